# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Carries a build box's requests to the policy model, and nothing else to any other place.

The box connects to a port of its own loopback, on which we answer. Invariants: one fixed host and
port; one request per connection, its head rebuilt from the parsed request, so that no second
request is smuggled in; only paths of this run, so that no rollout writes into another's capture.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import TYPE_CHECKING

from vibench_gym.core.config import MIB
from vibench_gym.gym.box.call_usage import NO_TOKENS, UsageReader
from vibench_gym.stack.packages.http_wire import (
    HttpProtocolError,
    Request,
    read_request,
    send_response,
)
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator

    from vibench_gym.gym.box.call_usage import Usage
    from vibench_gym.gym.box.model_route import ModelTraffic, ModelUrl

MAX_CONNECTIONS = 32
MAX_BODY_BYTES = 64 * MIB
MAX_SESSIONS = 256
HEAD_S = 60.0
CONNECT_S = 15.0
SEND_S = 120.0
ANSWER_S = 3600.0
"""A model may think for a long time before its first token."""
_CHUNK = 64 * 1024
_METHODS = ("GET", "POST")
_TARGET = re.compile(r"/[A-Za-z0-9._/:-]*(\?[A-Za-z0-9._=&-]*)?")
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_EVENT = re.compile(rb"^data:[ ]*([^\r\n]{8})", re.MULTILINE)
_SESSION = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_SESSION_HEADER = "x-session-id"
_OURS = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "expect", "upgrade"),
        "accept-encoding",  # what answers say is read here
        *("keep-alive", "te", "trailer"),  # codespell:ignore te
        *("proxy-connection", "proxy-authorization", "cookie"),
    }
)


class ModelRelay:
    """One box's way to the model."""

    def __init__(self, upstream: ModelUrl, traffic: ModelTraffic) -> None:
        self._upstream = upstream
        self._traffic = traffic
        self._connections = asyncio.Semaphore(MAX_CONNECTIONS)

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Answer on a listening socket (made inside the box's network) until left."""
        async with serving(self._connection, listener, limit=_CHUNK):
            yield

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._connections:
                await self._exchange(reader, writer)
        except (OSError, TimeoutError, HttpProtocolError, asyncio.IncompleteReadError):
            pass  # the box hung up or does not speak HTTP: nothing of ours is lost
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), timeout=5)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await asyncio.wait_for(read_request(reader), HEAD_S)
        if request is None:
            return
        refusal, length = self._judge(request)
        if refusal:
            await send_response(writer, request, refusal, b"the model route carries no such call\n")
            return
        traffic = self._traffic
        traffic.requests += 1
        session = request.headers.get(_SESSION_HEADER, "")
        if _SESSION.fullmatch(session) and len(traffic.sessions) < MAX_SESSIONS:
            traffic.sessions.setdefault(session)
        known = session in traffic.sessions
        try:
            far = await self._connect()
        except (OSError, TimeoutError) as error:
            self._failed(f"no connection to the model server: {error!r}")
            await send_response(writer, request, 502, b"the model server is not reachable\n")
            return
        far_reader, far_writer = far
        try:
            far_writer.write(self._head(request, length))
            await _copy(reader, far_writer, length)
            await self._answer(far_reader, reader, writer, counts=known)
        finally:
            far_writer.transport.abort()

    def _judge(self, request: Request) -> tuple[int, int]:
        """A status to refuse with (0: carry it) and the body's length."""
        prefix = f"{self._upstream.prefix}/v1/"
        path = request.target.partition("?")[0]
        parts = path.split("/")
        if request.method not in _METHODS:
            return 405, 0
        if not _TARGET.fullmatch(request.target) or not path.startswith(prefix):
            return 403, 0
        if any(part in (".", "..") for part in parts) or "" in parts[1:]:
            return 403, 0
        if "transfer-encoding" in request.headers:
            return 411, 0
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or len(length) > 12:  # noqa: PLR2004 (digits)
            return 400, 0
        return (413, 0) if int(length) > MAX_BODY_BYTES else (0, int(length))

    def _head(self, request: Request, length: int) -> bytes:
        """A head of our own making; what was not understood is not passed on."""
        fields = {
            name: value
            for name, value in request.headers.items()
            if name not in _OURS and _NAME.fullmatch(name) and _VALUE.fullmatch(value)
        }
        fields["host"] = f"{self._upstream.host}:{self._upstream.port}"
        fields["connection"] = "close"
        fields["content-length"] = str(length)
        lines = [f"{request.method} {request.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        to = self._upstream
        return await asyncio.wait_for(
            asyncio.open_connection(to.connect_host, to.port, ssl=to.scheme == "https" or None),
            CONNECT_S,
        )

    async def _answer(
        self,
        far: asyncio.StreamReader,
        near: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        counts: bool,
    ) -> None:
        """Relay the answer until it ends, or until nobody in the box waits for it any more."""
        relaying = asyncio.create_task(self._relay(far, writer, counts=counts))
        leaving = asyncio.create_task(near.read(1))
        try:
            await asyncio.wait({relaying, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if relaying.done():
                relaying.result()
        finally:
            for task in (relaying, leaving):
                task.cancel()
            await asyncio.wait({relaying, leaving})
            if relaying.done() and not relaying.cancelled():
                relaying.exception()
            if not leaving.cancelled():
                leaving.exception()

    async def _relay(
        self, far: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool
    ) -> None:
        try:
            head = await asyncio.wait_for(far.readuntil(b"\r\n\r\n"), ANSWER_S)
            status = int(head.split(b" ", 2)[1][:3])
        except (OSError, TimeoutError, ValueError, IndexError, EOFError) as error:
            self._failed(f"the model server broke off: {error!r}")
            raise OSError("no answer") from error
        good = 200 <= status < 300  # noqa: PLR2004 (HTTP's range of success)
        if not good:
            self._failed(f"the model server answered with status {status}")
        writer.write(head)
        judge = _Body(streamed=b"text/event-stream" in head.lower())
        cost = _Cost(self._traffic, head) if good and counts else None
        while data := await asyncio.wait_for(far.read(_CHUNK), ANSWER_S):
            if good and judge.said is None:
                self._take(judge.look(data))
            if cost is not None:
                cost.take(data)  # before the box has it: it may hang up at once
            writer.write(data)
            await asyncio.wait_for(writer.drain(), SEND_S)
        if cost is not None:
            cost.end()
        if good and judge.said is None:
            self._failed("the model server's answer was empty")

    def _take(self, said: bool | None) -> None:
        if said:
            self._traffic.answered += 1
            self._traffic.failing_since = None
        elif said is not None:
            self._failed("the model server answered with an error in its stream")

    def _failed(self, text: str) -> None:
        self._traffic.last_failure = text
        if self._traffic.failing_since is None:
            self._traffic.failing_since = time.monotonic()


class _Cost:
    """Counts the tokens of one answer, as soon as they are told and once."""

    def __init__(self, traffic: ModelTraffic, head: bytes) -> None:
        self._traffic = traffic
        self._reader = UsageReader(head)
        self._counted: Usage | None = None

    def take(self, data: bytes) -> None:
        """The next piece of the body."""
        self._reader.take(data)
        self._count()

    def end(self) -> None:
        """The answer is whole."""
        self._reader.end()
        self._count()

    def _count(self) -> None:
        told = self._reader.usage
        if told is None or told is self._counted:
            return
        if self._counted is None:
            self._traffic.counted += 1
        # A stream may tell more than once; the last word counts.
        self._traffic.usage += told - (self._counted or NO_TOKENS)
        self._counted = told


class _Body:
    """Watches an answer's body for content: a stream opens before the model has produced any."""

    def __init__(self, *, streamed: bool) -> None:
        self._streamed = streamed
        self._held = b""
        self.said: bool | None = None
        """None: nothing yet; False: an error."""

    def look(self, data: bytes) -> bool | None:
        """Take the next piece."""
        if not self._streamed:
            self.said = True
            return True
        self._held = (self._held + data)[-_CHUNK:]
        event = _EVENT.search(self._held)
        if event is not None:
            self.said = not event[1].startswith(b'{"error"')
        return self.said


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int) -> None:
    while length > 0:
        data = await asyncio.wait_for(reader.read(min(length, _CHUNK)), SEND_S)
        if not data:
            raise HttpProtocolError("body cut short")
        length -= len(data)
        writer.write(data)
        await asyncio.wait_for(writer.drain(), SEND_S)
