# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Probes against real sockets that answer what an app may answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from vibench_gym.stack.readiness import Probe, probe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from vibench_gym.stack.readiness import Family

type Respond = "Callable[[bytes], bytes]"
LOOPBACK = {"ipv4": (socket.AF_INET, "127.0.0.1"), "ipv6": (socket.AF_INET6, "::1")}


async def connect(port: int, *, family: Family, timeout_s: float) -> socket.socket:
    kind, address = LOOPBACK[family]
    sock = socket.socket(kind)
    sock.setblocking(False)
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


@contextlib.asynccontextmanager
async def serving(
    respond: Respond, *, hold: bool = False, host: str = "127.0.0.1"
) -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            writer.write(respond(await reader.readuntil(b"\r\n\r\n")))
            await writer.drain()
            if hold:
                await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, host, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        server.abort_clients()


async def look(respond: Respond, *, hold: bool = False, timeout_s: float = 5) -> Probe:
    async with serving(respond, hold=hold) as port:
        return await probe(connect, port, timeout_s=timeout_s, max_redirects=3)


def answer(status: str, *headers: str, body: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize("status", ["200 OK", "401 Unauthorized", "403", "404 Not Found", "204 No"])
async def test_final_answers_below_500_are_documents(status: str) -> None:
    found = await look(lambda _: answer(status, body="hello"))
    assert found.ready
    assert found.status == int(status[:3])


@pytest.mark.parametrize("status", ["500 Oops", "502", "503 Starting"])
async def test_server_errors_are_not_ready(status: str) -> None:
    found = await look(lambda _: answer(status, body="x"))
    assert (found.ready, found.detail) == (False, f"answered {status[:3]}")


async def test_redirects_on_the_own_origin_are_followed_with_cookies() -> None:
    asked = []

    def respond(request: bytes) -> bytes:
        asked.append(request)
        if b"Cookie: s=1" in request:
            return answer("200 OK", body="in")
        return answer("302 Found", "Location: /in?x=1#top", "Set-Cookie: s=1; Path=/; HttpOnly")

    assert (await look(respond)).ready
    assert asked[1].startswith(b"GET /in?x=1 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "target",
    ["http://evil.example/", "https://localhost/", "http://localhost:1/", "//evil", "file:///x"],
)
async def test_redirects_elsewhere_are_never_followed(target: str) -> None:
    found = await look(lambda _: answer("302 Found", f"Location: {target}"))
    assert not found.ready
    assert "another origin" in found.detail


async def test_redirects_are_bounded() -> None:
    found = await look(lambda _: answer("302 Found", "Location: /again"))
    assert (found.ready, found.detail) == (False, "redirected more than 3 times")


@pytest.mark.parametrize(
    ("sent", "detail"),
    [
        (b"", "sending nothing"),
        (b"SSH-2.0-x\r\n", "not HTTP"),
        (b"SSH-2.0-x\r\n\r\n", "not HTTP"),
        (b"HTTP/2 200 OK\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\nhi", "without end"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "before its document"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10, "interim responses without end"),
        (answer("302 Found", "Location: http://[x"), "cannot be read (Invalid IPv6 URL)"),
    ],
)
async def test_rubbish_is_named(sent: bytes, detail: str) -> None:
    found = await look(lambda _: sent)
    assert not found.ready
    assert detail in found.detail


@pytest.mark.parametrize("length", ["\xb2", "+2", "-1", "1_0", "0x2", "2, 2", "", "9" * 5000])
async def test_a_length_that_is_no_number_is_none(length: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhi"
    assert (await look(lambda _: head.encode("latin-1"))).ready


async def test_interim_responses_are_skipped() -> None:
    found = await look(lambda _: b"HTTP/1.1 100 Continue\r\n\r\n" + answer("200 OK", body="x"))
    assert found.ready


async def test_silence_is_bounded() -> None:
    found = await look(lambda _: b"", hold=True, timeout_s=0.2)
    assert found == Probe(ready=False, detail="accepted a connection, no answer in 0.2 s")


async def test_a_document_that_streams_for_ever_is_one() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    assert (await look(lambda _: head, hold=True)).ready


async def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = await probe(connect, port, timeout_s=2, max_redirects=3)
    assert (found.ready, found.detail) == (False, "refused the connection")


async def test_ipv6_only_is_found() -> None:
    async with serving(lambda _: answer("200 OK", body="x"), host="::1") as port:
        assert (await probe(connect, port, timeout_s=2, max_redirects=3)).ready


async def test_odd_location_cannot_smuggle_a_request() -> None:
    asked = []

    def respond(request: bytes) -> bytes:
        asked.append(request)
        if len(asked) > 1:
            return answer("200 OK", body="x")
        return answer("302 Found", "Location: /a b\x00c\tHTTP/1.1")

    assert (await look(respond)).ready
    assert asked[1].count(b"HTTP/1.1") == 2
    assert asked[1].split(b"\r\n")[0] == b"GET /a%20b%00cHTTP/1.1 HTTP/1.1"
