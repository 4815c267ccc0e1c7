# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions with a server that may say anything; real servers are asked in the stack's contract."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from vibench_gym.stack.postgres import PASSWORD, USER
from vibench_gym.stack.postgres_session import (
    MAX_ROWS,
    PROBE,
    DatabaseRefused,
    session,
    take_a_row,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from vibench_gym.stack.readiness import Connect, Family

READY = b"Z\0\0\0\5I"
LET_IN = b"R\0\0\0\x08\0\0\0\0" + READY


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def ask(code: int, more: bytes = b"") -> bytes:
    return message(b"R", struct.pack("!I", code) + more)


def error(severity: str, text: str) -> bytes:
    return message(b"E", f"S{severity}\0V{severity}\0C42000\0M{text}\0\0".encode())


class Server:
    """What the other side of one connection reads and says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def started(self) -> bytes:
        (length,) = struct.unpack("!I", await self.reader.readexactly(4))
        return await self.reader.readexactly(length - 4)

    async def hears(self) -> bytes:
        head = await self.reader.readexactly(5)
        return await self.reader.readexactly(int.from_bytes(head[1:], "big") - 4)

    def says(self, *messages: bytes) -> None:
        self.writer.write(b"".join(messages))


type Behaviour = Callable[[Server], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncIterator[Connect]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            await behaviour(Server(reader, writer))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        address = server.sockets[0].getsockname()

        async def connect(port: int, *, family: Family, timeout_s: float) -> socket.socket:
            del port, family, timeout_s
            made = socket.socket()
            made.setblocking(False)
            await asyncio.get_running_loop().sock_connect(made, address)
            return made

        yield connect


async def trusting(server: Server) -> None:
    start = await server.started()
    assert USER.encode() in start
    server.says(LET_IN)
    while True:
        asked = (await server.hears()).rstrip(b"\0").decode()
        row = message(b"D", struct.pack("!Hi", 1, 2) + b"ok")
        null = message(b"D", struct.pack("!Hi", 1, -1))
        if asked == "rows":
            server.says(message(b"N", b"notice"), row, null, READY)
        elif asked == "many":
            server.says(row * (MAX_ROWS + 5), READY)
        elif asked == "bad":
            server.says(error("ERROR", "no such table"), READY)
        elif asked == "fatal":
            server.says(error("FATAL", "terminated by the administrator"))
            return
        elif asked == "gone":
            return
        elif asked == PROBE:
            server.says(READY)


async def test_rows_and_errors_of_statements() -> None:
    async with serving(trusting) as connect:
        async with session(connect, options="-c search_path=pg_catalog") as made:
            assert await made.query("rows") == ["ok", ""]
            assert len(await made.query("many")) == MAX_ROWS
        for statement, why in (
            ("bad", "ERROR: no such table"),
            ("fatal", "FATAL: terminated by"),
            ("gone", "the connection was lost"),
        ):
            with pytest.raises(DatabaseRefused, match=why):
                async with session(connect) as made:
                    await made.query(statement)
        await take_a_row(connect)


async def cleartext(server: Server) -> None:
    await server.started()
    server.says(ask(3))
    assert await server.hears() == PASSWORD.encode() + b"\0"
    server.says(LET_IN)
    await server.hears()


async def md5(server: Server) -> None:
    await server.started()
    server.says(ask(5, b"salt"))
    inner = hashlib.md5((PASSWORD + USER).encode(), usedforsecurity=False).hexdigest()
    outer = hashlib.md5(inner.encode() + b"salt", usedforsecurity=False).hexdigest()
    assert await server.hears() == f"md5{outer}\0".encode()
    server.says(LET_IN)
    await server.hears()


async def scram(server: Server) -> None:
    """The server's half, from RFC 5802."""
    await server.started()
    server.says(ask(10, b"SCRAM-SHA-256\0\0"))
    name, first = (await server.hears()).split(b"\0", 1)
    assert name == b"SCRAM-SHA-256"
    bare = first[4:].decode().removeprefix("n,,")
    nonce = bare.split("r=")[1] + "ours"
    said = f"r={nonce},s={base64.b64encode(b'salt').decode()},i=4096"
    server.says(ask(11, said.encode()))
    final, proof = (await server.hears()).decode().rsplit(",p=", 1)
    key = hmac.digest(
        hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), b"salt", 4096), b"Client Key", "sha256"
    )
    stored = hashlib.sha256(key).digest()
    signed = hmac.digest(stored, f"{bare},{said},{final}".encode(), "sha256")
    shown = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signed, strict=True))
    if hashlib.sha256(shown).digest() == stored:
        server.says(ask(12, b"v="), LET_IN)
    await server.hears()


@pytest.mark.parametrize("behaviour", [cleartext, md5, scram])
async def test_whatever_a_password_is_enough_for(behaviour: Behaviour) -> None:
    async with serving(behaviour) as connect, session(connect, timeout_s=30):
        pass


async def nobody(server: Server) -> None:
    await server.started()
    server.says(error("FATAL", "role is not permitted to log in"))


async def certificates(server: Server) -> None:
    await server.started()
    server.says(ask(7))
    await server.hears()


async def rubbish(server: Server) -> None:
    server.says(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await server.hears()


async def full(server: Server) -> None:
    server.says(b"Ecould not fork new process for connection\n\0")
    await server.hears()


async def silence(server: Server) -> None:
    await server.started()
    await server.hears()


def greedy(said: bytes) -> Behaviour:
    async def behave(server: Server) -> None:
        await server.started()
        server.says(ask(10, b"SCRAM-SHA-256\0\0"))
        await server.hears()
        server.says(ask(11, said))
        await server.hears()

    return behave


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (nobody, "not permitted"),
        (certificates, "asks for kind 7"),
        (rubbish, "does not speak"),
        (full, "cannot start a process"),
        (silence, "no answer within"),
        (greedy(b"r=a,s=YWJj,i=2000000000"), "2000000000 iterations"),
        (greedy(b"nothing"), "cannot be understood"),
        (greedy(b"\xff"), "cannot be understood"),
    ],
)
async def test_a_server_that_lets_nobody_in_is_named(behaviour: Behaviour, why: str) -> None:
    async with serving(behaviour) as connect:
        with pytest.raises(DatabaseRefused, match=why):
            async with session(connect, timeout_s=1.0):
                raise AssertionError("it was let in")


async def test_a_server_that_starts_anew_is_waited_for() -> None:
    seen: list[int] = []

    async def later(server: Server) -> None:
        seen.append(1)
        if len(seen) < 3:
            await nobody(server)
        else:
            await trusting(server)

    async with serving(later) as connect, session(connect, timeout_s=60) as made:
        assert await made.query("rows") == ["ok", ""]


async def test_a_statement_without_an_answer_is_named() -> None:
    async with serving(trusting) as connect:
        with pytest.raises(DatabaseRefused, match="no answer within"):
            async with session(connect, timeout_s=1.0) as made:
                await made.query("something else")
