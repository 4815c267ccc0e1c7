# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The mirror and the stranger half of HTTP's clients: each gets its answer, and none waits."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from support.fake_registry import HOST, WHEEL, mirrored
from vibench_gym.stack.packages import mirror as mirror_module
from vibench_gym.stack.packages.refusals import MALFORMED, OVER_LIMIT

if TYPE_CHECKING:
    from pathlib import Path

TARBALL = "/left-pad/-/x-1.0.0.tgz"
HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) ")
CLOSE = "Connection: close\n"


def request(first: str, *headers: str, body: str = "") -> str:
    return f"{first}\nHost: x\n" + "".join(f"{header}\n" for header in headers) + f"\n{body}"


def get(*headers: str, path: str = TARBALL, body: str = "") -> str:
    return request(f"GET {path} HTTP/1.1", *headers, body=body)


def last(*headers: str, path: str = TARBALL) -> str:
    return get(*headers, "Connection: close", path=path)


CHUNKED = "Transfer-Encoding: chunked"
CLIENTS = {
    "says close": (last(), [200]),
    "says close in a list": (get("Connection: TE, Close"), [200]),
    "HTTP/1.0": (f"GET {TARBALL} HTTP/1.0\n\n", [200]),
    "HTTP/1.0 that would be kept": (f"GET {TARBALL} HTTP/1.0\nConnection: keep-alive\n\n", [200]),
    "pipelines": (get() + get(path="/nothing") + last(), [200, 404, 200]),
    "HEAD": (request(f"HEAD {TARBALL} HTTP/1.1", "Connection: close"), [200]),
    "HEAD of nothing, then GET": (request("HEAD /nothing HTTP/1.1") + last(), [404, 200]),
    "asks for a range": (last("Range: bytes=1-"), [200]),
    "expects to be let go on, for nothing": (get("Expect: 100-continue"), [200]),
    "waits with its upload": (
        request("PUT /x HTTP/1.1", "Expect: 100-continue", "Content-Length: 9"), [405],
    ),
    "names the mirror's URL": (last(path=f"http://127.0.0.1:3141{TARBALL}?x=1"), [200]),
    "names it another way": (last(path=f"HTTP://LocalHost:3141{TARBALL}"), [200]),
    "names only its host": (last(path="http://localhost:3141"), [404]),
    "has a URL in its query": (last(path=f"{TARBALL}?from=http://evil.example/"), [200]),
    "is no path": (last(path="left-pad"), [400]),
    "asks for options": (request("OPTIONS * HTTP/1.1"), [405]),
    "GET with a body": (get("Content-Length: 3", body="abc") + last(), [200, 200]),
    "GET with chunks": (get(CHUNKED, body="3\nabc\n0\n\n") + last(), [200, 200]),
    "GET with a cut body": (get("Content-Length: 3", body="ab"), [400]),
    "GET with an endless body": (get("Content-Length: 9999999", body="x" * 1_100_000), [413]),
    "POST with chunks": (request("POST /x HTTP/1.1", CHUNKED, body="3\nabc\n0\n\n"), [405]),
    "lower case": (request(f"get {TARBALL} HTTP/1.1"), [405]),
    "odd method": (request("M-SEARCH * HTTP/1.1"), [405]),
    "method that is none": (request("G<T / HTTP/1.1"), [400]),
    "folds a header": (get("X-Long: a", "  b", "Connection: close"), [200]),
    "two lengths": (get("Content-Length: 1", "Content-Length: 2", body="ab"), [400]),
    "twice the same length": (last("Content-Length: 0", "Content-Length: 0"), [200]),
    "negative length": (get("Content-Length: -1"), [400]),
    "unknown coding": (get("Transfer-Encoding: gzip"), [501]),
    "space before the colon": (get("Content-Length : 1"), [400]),
    "NUL in a header": (get("X: a\0b"), [400]),
    "no host": (f"GET {TARBALL} HTTP/1.1\n\n", [400]),
    "empty lines first": (f"\n\n{last()}", [200]),
    "endless line": (f"GET /{'x' * 300_000} HTTP/1.1\n\n", [431]),
    "endless headers": (get(*[f"X{n}: {'y' * 90}" for n in range(3000)]), [431]),
    "offers HTTP/2": (last("Upgrade: h2c", "HTTP2-Settings: AAMAAABk"), [200]),
    "is HTTP/2": ("PRI * HTTP/2.0\n\nSM\n\n", [505]),
    "is HTTP/0.9": (f"GET {TARBALL}\n\n", [400]),
    "is TLS": ("\x16\x03\x01\x02\x00\x01\x00", [400]),
    "is another protocol": ("SSH-2.0-OpenSSH_9.6\n\n", [400]),
    "asks a proxy": (get(path="http://evil.example/"), [403]),
    "asks a proxy for a tunnel": (request("CONNECT evil.example:443 HTTP/1.1"), [403]),
    "asks for a tunnel to the mirror": (request("CONNECT 127.0.0.1:3141 HTTP/1.1"), [403]),
}  # fmt: skip
ENDS_ITSELF = ("GET with a cut body",)


@pytest.mark.parametrize(
    ("name", "line_end"),
    # Lines that end with LF alone are common in heads only.
    [
        (name, end)
        for name in CLIENTS
        for end in ("\r\n", "\n")
        if end == "\r\n" or "chunks" not in name
    ],
)
async def test_answers_and_ends(tmp_path: Path, name: str, line_end: str) -> None:
    text, expected = CLIENTS[name]
    data = text.encode("latin-1").replace(b"\n", line_end.encode())
    async with mirrored(tmp_path) as m:
        if name in ENDS_ITSELF:
            answer, ended = await m.raw(text), True
        else:
            answer, ended = await m.to_the_end(data)
        assert [int(status) for status in HEAD.findall(answer)] == expected, answer[:500]
        assert ended, "the client would wait"
        assert (await m.get("/left-pad")).status_code == 200


async def test_a_body_that_does_not_come_is_not_waited_for_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "BODY_S", 0.05)
    async with mirrored(tmp_path) as m:
        answer, ended = await m.to_the_end(get("Content-Length: 3").replace("\n", "\r\n").encode())
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert ended
        monkeypatch.setattr(mirror_module, "IDLE_S", 0.05)
        assert await m.to_the_end(b"GET / HT") == (b"", True)


async def test_bodies_are_framed_as_each_client_reads_them(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        wheel = f"/-/file/{HOST}/files/pkg-1-py3-none-any.whl"
        data = (request(f"HEAD {wheel} HTTP/1.1") + last(path=wheel)).replace("\n", "\r\n").encode()
        answer, ended = await m.to_the_end(data)
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(WHEEL)}".encode() in head
    assert rest.startswith(b"HTTP/1.1 200 OK\r\n")
    second, _, body = rest.partition(b"\r\n\r\n")
    assert b"Connection: close" in second
    assert b"Connection: close" not in head
    assert body == WHEEL
    assert ended


async def test_refused_methods_say_what_is_allowed(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        answer, _ = await m.to_the_end(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
    assert b"\r\nAllow: GET, HEAD\r\n" in answer


async def test_an_upload_is_answered_though_it_was_sent_to_its_end(tmp_path: Path) -> None:
    """Cut while it is being sent, the connection would take the answer with it."""
    size = 8 * 1024 * 1024
    head = f"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode()
    async with mirrored(tmp_path) as m:
        reader, writer = await asyncio.open_connection("127.0.0.1", m.port)
        writer.write(head + bytes(size))
        await asyncio.wait_for(writer.drain(), 60)
        writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), 60)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 405 ")


async def test_clients_that_leave_early_take_nobody_along(tmp_path: Path) -> None:
    wheel = f"/-/file/{HOST}/files/pkg-1-py3-none-any.whl"
    async with mirrored(tmp_path) as m:
        for sent in (b"", b"GET", get(path=wheel).replace("\n", "\r\n").encode() * 20):
            with socket.create_connection(("127.0.0.1", m.port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(sent)
        assert (await m.get(wheel)).content == WHEEL


async def test_one_connection_too_many_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "MAX_CONNECTIONS", 1)
    async with mirrored(tmp_path) as m:
        held, holder = await asyncio.open_connection("127.0.0.1", m.port)
        holder.write(get().replace("\n", "\r\n").encode())
        await asyncio.wait_for(held.readuntil(b"tgz"), 20)
        answer, ended = await m.to_the_end(last().replace("\n", "\r\n").encode())
        holder.close()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert ended


async def test_a_status_without_a_body_is_not_passed_on(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        answer = await m.get("/simple/odd/")
    assert answer.status_code == 502
    assert "304" in answer.text


async def test_what_is_refused_is_counted_by_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mirrored(tmp_path, max_bytes=1) as m:
        await m.to_the_end(b"rubbish\r\n\r\n")
        await m.to_the_end(get("Content-Length: 1", "Content-Length: 2").encode())
        await m.to_the_end(request("MKCOL /x HTTP/1.1").encode())
        assert (await m.get(TARBALL)).status_code == 403
        monkeypatch.setattr(mirror_module, "MAX_REQUESTS", 1)
        assert (await m.get(TARBALL)).status_code == 403
        assert m.mirror.refusals.requests == {MALFORMED: 2, "MKCOL": 1, OVER_LIMIT: 2}
