# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as far as the mirror needs it, with every length bounded.

A server of our own, since CONNECT and absolute-form requests have to be seen as they were sent.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_HEAD_BYTES = 32 * 1024
SEND_TIMEOUT_S = 120.0
CHUNK_BYTES = 512 * 1024


class HttpProtocolError(Exception):
    """The peer does not speak HTTP, or sent more than it may."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request's head. `raw_headers` is the text after the request line, without the last CRLF."""

    method: str
    target: str
    headers: Mapping[str, str]
    raw_headers: bytes


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request's head, None at the end of the connection.

    Raises:
        HttpProtocolError: it is not HTTP or too large.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial.strip():
            return None
        raise HttpProtocolError("request cut short") from error
    except asyncio.LimitOverrunError as error:
        raise HttpProtocolError("request head too large") from error
    if len(head) > MAX_HEAD_BYTES:
        raise HttpProtocolError("request head too large")
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):  # noqa: PLR2004 (method, target, version)
        raise HttpProtocolError("not a request")
    headers = {}
    for field in rest.decode("latin-1").split("\r\n"):
        name, colon, value = field.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return Request(words[0], words[1], headers, rest.removesuffix(b"\r\n"))


async def send_response(
    writer: asyncio.StreamWriter,
    request: Request,
    status: int,
    body: bytes | Path,
    *,
    content_type: str = "text/plain",
) -> None:
    """Answer with bytes or a file's content; a HEAD request gets the head only."""
    size = len(body) if isinstance(body, bytes) else (await _stat_size(body))
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    clean_type = "".join(c for c in content_type if c.isprintable()) or "text/plain"
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {clean_type}\r\nContent-Length: {size}"
    writer.write(head.encode("latin-1", errors="replace") + b"\r\n\r\n")
    if request.method != "HEAD":
        await _send_body(writer, body)
    await asyncio.wait_for(writer.drain(), SEND_TIMEOUT_S)


async def _stat_size(path: Path) -> int:
    return (await asyncio.to_thread(path.stat)).st_size


async def _send_body(writer: asyncio.StreamWriter, body: bytes | Path) -> None:
    if isinstance(body, bytes):
        writer.write(body)
        return
    await asyncio.wait_for(writer.drain(), SEND_TIMEOUT_S)
    # Not `sendfile`: event loops other than asyncio's own have none.
    with body.open("rb") as file:
        while data := await asyncio.to_thread(file.read, CHUNK_BYTES):
            writer.write(data)
            await asyncio.wait_for(writer.drain(), SEND_TIMEOUT_S)
