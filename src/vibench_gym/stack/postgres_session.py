# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A session of ours with an app's PostgreSQL: no program and no file of the app's takes part.

Whether a database still answers decides whose fault a failure is, so it is not asked through a
`psql` that the app may have put in the way. The server is as hostile as the app: messages, time and
the work that it may ask for are bounded.

Protocol: PostgreSQL's frontend/backend protocol 3.0, with the authentications that a password is
enough for (none, cleartext, MD5, SCRAM-SHA-256).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import secrets
import struct
from typing import TYPE_CHECKING, Final

from vibench_gym.stack.postgres import DATABASE, PASSWORD, PORT, USER, PostgresNotStarted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from vibench_gym.stack.readiness import Connect

ANSWER_TIMEOUT_S: Final = 20.0
"""For one session with its retries: longer than a restart after a crash takes."""
_RETRY_S: Final = 0.2
_CONNECT_TIMEOUT_S: Final = 5.0
_PROTOCOL: Final = 3 << 16
_MAX_MESSAGE: Final = 1 << 20
MAX_ROWS: Final = 10_000
_MAX_ITERATIONS: Final = 100_000
"""Of SCRAM; PostgreSQL asks for 4096 unless told otherwise. More would be work for nothing."""
_WORDS: Final = 500
_SPEAKS_AS: Final = "psql"
"""The application's name: a database that treats a seed's own client badly shows it here, too."""

PROBE: Final = (
    "begin; create temporary table vibench_gym_probe (n integer);"
    " insert into vibench_gym_probe values (1); rollback"
)
"""The least that any seed asks of a database."""


class DatabaseRefused(PostgresNotStarted):
    """The database does not do what is asked of it; the message says what it does instead."""


@contextlib.asynccontextmanager
async def session(
    connect: Connect, *, options: str = "", timeout_s: float = ANSWER_TIMEOUT_S
) -> AsyncIterator[Session]:
    """Log in as the app's user; the connection is dropped when the block ends.

    A login that fails is tried again until the time is up, as a server that starts anew refuses
    connections for a moment; a statement is not.

    Args:
        connect: opens connections in the app's network.
        options: settings of the session, as `-c name=value`.
        timeout_s: seconds for the login and the whole block.

    Raises:
        DatabaseRefused: it does not let us in, a statement fails, or there is no answer in time.
    """
    made = Session(connect)
    why = f"no answer within {timeout_s:g} s"
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    await made.log_in(options)
                    break
                except (OSError, EOFError, DatabaseRefused) as error:
                    why = str(error) or type(error).__name__
                    made.close()
                await asyncio.sleep(_RETRY_S)
            why = f"no answer within {timeout_s:g} s"
            yield made
    except TimeoutError:
        raise DatabaseRefused(why) from None
    except (OSError, EOFError) as error:
        raise DatabaseRefused(f"the connection was lost: {error}") from error
    finally:
        made.close()


async def take_a_row(connect: Connect) -> None:
    """Ask a database for the least that any seed needs, and leave nothing there.

    Raises:
        DatabaseRefused: it does something else.
    """
    async with session(connect) as made:
        await made.query(PROBE)


class Session:
    """One connection."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def log_in(self, options: str) -> None:
        """Connect and authenticate.

        Raises:
            DatabaseRefused: the server says no, or something that cannot be understood.
            OSError, EOFError: nothing listens, or the connection ends.
        """
        sock = await self._connect(PORT, family="ipv4", timeout_s=_CONNECT_TIMEOUT_S)
        self._reader, self._writer = await asyncio.open_connection(sock=sock)
        given = {
            "user": USER,
            "database": DATABASE,
            "application_name": _SPEAKS_AS,
            "client_encoding": "UTF8",
            **({"options": options} if options else {}),
        }
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in given.items()) + b"\0"
        self._writer.write(struct.pack("!II", len(body) + 8, _PROTOCOL) + body)
        scram = _Scram()
        while True:
            kind, data = await self._message()
            if kind == b"R":
                self._authenticate(scram, data)
            elif kind == b"Z":
                return

    async def query(self, statement: str) -> list[str]:
        """Have SQL carried out; the first column of its rows, as text, `MAX_ROWS` at most.

        Raises:
            DatabaseRefused: the server says no.
            OSError, EOFError: the connection ends.
        """
        self._send(b"Q", statement.encode() + b"\0")
        rows: list[str] = []
        failure: DatabaseRefused | None = None
        while True:
            try:
                kind, data = await self._message()
            except DatabaseRefused as refused:
                failure = refused  # what follows an error is that it is ready, or the end
                continue
            except EOFError:
                raise failure or EOFError("the server has gone") from None
            if kind == b"D" and len(rows) < MAX_ROWS:
                rows.append(_first_column(data))
            elif kind == b"Z":
                break
        if failure is not None:
            raise failure
        return rows

    def close(self) -> None:
        """Drop the connection."""
        if self._writer is not None:
            self._writer.transport.abort()
            self._writer = None

    async def _message(self) -> tuple[bytes, bytes]:
        if self._reader is None:
            raise EOFError("not connected")
        head = await self._reader.readexactly(5)
        length = int.from_bytes(head[1:], "big") - 4
        if not 0 <= length <= _MAX_MESSAGE:
            # A server that cannot start a process for us sends bare text, which begins with an E.
            full = "its server cannot start a process for a connection"
            raise OSError(full if head[:1] == b"E" else "it does not speak PostgreSQL's protocol")
        kind, data = head[:1], await self._reader.readexactly(length)
        if kind == b"E":
            raise DatabaseRefused(_error(data))
        return kind, data

    def _send(self, kind: bytes, body: bytes) -> None:
        if self._writer is None:
            raise EOFError("not connected")
        self._writer.write(kind + struct.pack("!I", len(body) + 4) + body)

    def _authenticate(self, scram: _Scram, data: bytes) -> None:
        code, rest = int.from_bytes(data[:4], "big"), data[4:]
        match code:
            case 0 | 12:  # let in; SCRAM's last word
                return
            case 3:
                self._send(b"p", PASSWORD.encode() + b"\0")
            case 5:
                inner = _md5(PASSWORD.encode() + USER.encode())
                self._send(b"p", b"md5" + _md5(inner + rest[:4]) + b"\0")
            case 10:
                first = scram.first()
                name = b"SCRAM-SHA-256\0"
                self._send(b"p", name + struct.pack("!I", len(first)) + first)
            case 11:
                self._send(b"p", scram.final(rest))
            case _:
                raise DatabaseRefused(f"the password is not enough: it asks for kind {code}")


class _Scram:
    """The client's half of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding."""

    def __init__(self) -> None:
        self._bare = f"n=,r={secrets.token_urlsafe(18)}"

    def first(self) -> bytes:
        """The client's first message."""
        return f"n,,{self._bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """The proof that the password is known.

        Raises:
            DatabaseRefused: the server's message cannot be understood, or asks for too much work.
        """
        try:
            said = server_first.decode()
            parts = dict(part.split("=", 1) for part in said.split(","))
            salt, rounds = base64.b64decode(parts["s"]), int(parts["i"])
            without_proof = f"c=biws,r={parts['r']}"
        except (ValueError, KeyError) as error:
            raise DatabaseRefused("its authentication cannot be understood") from error
        if not 0 < rounds <= _MAX_ITERATIONS:
            raise DatabaseRefused(f"its authentication asks for {rounds} iterations")
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), salt, rounds)
        key = _hmac(salted, b"Client Key")
        signed = _hmac(
            hashlib.sha256(key).digest(), f"{self._bare},{said},{without_proof}".encode()
        )
        proof = bytes(a ^ b for a, b in zip(key, signed, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).hexdigest().encode()


def _error(data: bytes) -> str:
    """`SEVERITY: message` of an ErrorResponse."""
    fields = {
        field[:1]: field[1:].decode("utf-8", "replace") for field in data.split(b"\0") if field
    }
    return f"{fields.get(b'V', fields.get(b'S', 'ERROR'))}: {fields.get(b'M', '')[:_WORDS]}"


def _first_column(data: bytes) -> str:
    """Of a DataRow: the number of columns, then a length (-1 for null) and that many bytes each."""
    length = int.from_bytes(data[2:6], "big", signed=True)
    return data[6 : 6 + length].decode("utf-8", "replace") if length > 0 else ""
