# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One client's connection to the mirror: HTTP/1.0 and 1.1 as h11 reads them, every length bounded.

Whatever a client is, it gets an answer at once or the connection's end: what it says about keeping
the connection is done, an upload that is refused can be sent to its end and still be answered, and
what is no HTTP gets a status before the connection ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING

import h11

from vibench_gym.stack.packages.http_wire import (
    CHUNK_BYTES,
    MAX_HEAD_BYTES,
    SEND_TIMEOUT_S,
    HttpProtocolError,
    Request,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

MAX_SKIPPED_BYTES = 1024 * 1024
"""Of the body of a request that needs none."""
LINGER_BYTES = 64 * 1024 * 1024
LINGER_S = 30.0
"""What a client may go on sending after its last answer: a connection that is cut while it sends
would take the answer with it."""
_READ_BYTES = 64 * 1024


class BadRequest(HttpProtocolError):
    """No request, or one that is too large; `status` says which."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ClientConnection:
    """Requests of one client, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._head_only = False
        self._answered = False

    async def next_request(self) -> Request | None:
        """The next request's head, None where the client has left.

        Raises:
            BadRequest: it is no HTTP/1, or no request that can be answered.
        """
        self._head_only = False
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        event = await self._event()
        if not isinstance(event, h11.Request):
            return None
        if not event.http_version.startswith(b"1."):
            raise BadRequest(505, "not HTTP/1")
        self._head_only = event.method == b"HEAD"
        return _request(event)

    async def skip_body(self, timeout_s: float) -> None:
        """Read past the body of a request that needs none, unless the client first asks for leave.

        Raises:
            BadRequest: it is larger than any such body, cut short, or does not come in time.
        """
        left = MAX_SKIPPED_BYTES
        try:
            async with asyncio.timeout(timeout_s):
                while not self._http.they_are_waiting_for_100_continue:
                    event = await self._event()
                    if not isinstance(event, h11.Data):
                        return
                    left -= len(event.data)
                    if left < 0:
                        raise BadRequest(413, "this request needs no body")
        except TimeoutError:
            raise BadRequest(408, "the request's body did not come") from None

    async def respond(
        self, status: int, body: bytes | Path, *, content_type: str = "", close: bool = False
    ) -> bool:
        """Answer with bytes or a file's content; whether the connection can be used again."""
        size = len(body) if isinstance(body, bytes) else (await asyncio.to_thread(_size, body))
        kind = "".join(c for c in content_type if c.isascii() and c.isprintable()).strip()
        headers = [("Content-Type", kind or "text/plain"), ("Content-Length", str(size))]
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append(("Allow", "GET, HEAD"))
        if close or self._http.their_state in (h11.SEND_BODY, h11.ERROR):
            headers.append(("Connection", "close"))
        self._answered = True
        self._send(h11.Response(status_code=status, headers=headers, reason=_phrase(status)))
        if not self._head_only:
            async for chunk in _chunks(body):
                self._send(h11.Data(data=chunk))
                await self._drain()
        self._send(h11.EndOfMessage())
        await self._drain()
        return self._http.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}

    def rest(self) -> bytes:
        """What the client has sent after the head of its request."""
        return bytes(self._http.trailing_data[0])

    async def leave(self) -> None:
        """End the connection so that the last answer arrives."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(LINGER_S):
                if self._answered and self._writer.can_write_eof():
                    self._writer.write_eof()
                    left = LINGER_BYTES
                    while left > 0 and (data := await self._reader.read(_READ_BYTES)):
                        left -= len(data)
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), LINGER_S)

    async def _event(self) -> h11.Event | type[h11.PAUSED | h11.NEED_DATA]:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise BadRequest(error.error_status_hint, str(error)) from error
            if event is not h11.NEED_DATA:
                return event
            data = await self._reader.read(_READ_BYTES)
            if data and self._http.their_state is h11.IDLE and not self.rest():
                data = data.lstrip(b"\r\n")  # empty lines before a request are none
                if not data:
                    continue
            self._http.receive_data(data)

    def _send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")

    async def _drain(self) -> None:
        await asyncio.wait_for(self._writer.drain(), SEND_TIMEOUT_S)


def _request(event: h11.Request) -> Request:
    headers: dict[str, str] = {}
    for raw_name, raw_value in event.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    raw = b"\r\n".join(b"%b: %b" % pair for pair in event.headers.raw_items())
    return Request(event.method.decode("latin-1"), event.target.decode("latin-1"), headers, raw)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def _size(path: Path) -> int:
    return path.stat().st_size


async def _chunks(body: bytes | Path) -> AsyncIterator[bytes]:
    if isinstance(body, bytes):
        yield body
        return
    # Not `sendfile`: event loops other than asyncio's own have none.
    with body.open("rb") as file:
        while data := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield data
