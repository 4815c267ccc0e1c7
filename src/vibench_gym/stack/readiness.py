# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whether an app serves a document yet, asked over sockets that lead into its zone.

An HTTP client of our own: the peer is hostile, so the head, the body, the redirects and the time of
each probe are bounded, and it never follows a redirect out of the app's own origin.

A document is any final response below 500: an app may well ask for a login with 401 or keep `/`
empty with 404, and users see what it sends. 5xx is an app that is not up yet, or broken.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import socket

type Family = Literal["ipv4", "ipv6"]

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 256 * 1024
MAX_COOKIES = 20
MAX_INTERIM = 5
_FIRST_FINAL = 200
_FIRST_ERROR = 500
_REDIRECTS = (301, 302, 303, 307, 308)
_DIGITS = re.compile(r"[0-9]+")
"""Not `isdigit`: a byte 0xB2 is a digit to that, and no number to `int`."""
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})(?: |\r|$)")


class Connect(Protocol):
    """Opens a connection inside the app's network namespace."""

    async def __call__(self, port: int, *, family: Family, timeout_s: float) -> socket.socket:
        """A connected socket, or OSError."""
        ...


@dataclass(frozen=True, slots=True)
class Probe:
    """What one look at the app found. `detail` is a short clause for an error message."""

    ready: bool
    detail: str
    status: int | None = None


@dataclass(slots=True)
class _Answer:
    status: int
    location: str | None
    cookies: dict[str, str] = field(default_factory=dict)


class _NotHttp(Exception):
    """What came back is not a complete HTTP/1 response."""


async def probe(
    connect: Connect, port: int, *, timeout_s: float, max_redirects: int, path: str = "/"
) -> Probe:
    """One bounded try to get a document, following redirects on the app's own origin."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _document(connect, port, path, max_redirects, timeout_s)
    except TimeoutError:
        return Probe(ready=False, detail=f"accepted a connection, no answer in {timeout_s:g} s")
    except _NotHttp as error:
        return Probe(ready=False, detail=str(error))
    except ValueError as error:
        # From a parser of the library's, on what the app sent (an address such as `http://[x`).
        return Probe(ready=False, detail=f"sent what cannot be read ({error})"[:300])
    except OSError as error:
        detail = (
            "refused the connection"
            if isinstance(error, ConnectionRefusedError)
            else (f"could not be connected to ({error.strerror or error})")
        )
        return Probe(ready=False, detail=detail)


async def _document(
    connect: Connect, port: int, path: str, max_redirects: int, timeout_s: float
) -> Probe:
    url = f"http://localhost:{port}{path}"
    cookies: dict[str, str] = {}
    for _ in range(max_redirects + 1):
        answer = await _get(connect, port, url, cookies, timeout_s)
        cookies = dict(list({**cookies, **answer.cookies}.items())[:MAX_COOKIES])
        if answer.status in _REDIRECTS and answer.location is not None:
            target = urljoin(url, answer.location)
            if not _own_origin(target, port):
                host = urlsplit(target).netloc[:200]
                return Probe(ready=False, detail=f"redirected to another origin ({host!r})")
            url = target
            continue
        if answer.status >= _FIRST_ERROR:
            return Probe(ready=False, detail=f"answered {answer.status}", status=answer.status)
        return Probe(ready=True, detail=f"answered {answer.status}", status=answer.status)
    return Probe(ready=False, detail=f"redirected more than {max_redirects} times")


def _own_origin(url: str, port: int) -> bool:
    try:
        parts = urlsplit(url)
        own_port = (parts.port or 80) == port
    except ValueError:
        return False
    return (
        parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1") and own_port
    )


async def _get(
    connect: Connect, port: int, url: str, cookies: dict[str, str], timeout_s: float
) -> _Answer:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"GET {_wire(target)} HTTP/1.1",
        f"Host: localhost:{port}",
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
        "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    if cookies:
        lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in cookies.items()))
    request = "\r\n".join([*lines, "", ""]).encode("latin-1", errors="replace")
    sock = await _either_family(connect, port, timeout_s)
    reader, writer = await asyncio.open_connection(sock=sock, limit=MAX_HEAD_BYTES)
    try:
        writer.write(request)
        await writer.drain()
        return await _read_answer(reader)
    finally:
        writer.transport.abort()


async def _either_family(connect: Connect, port: int, timeout_s: float) -> socket.socket:
    try:
        return await connect(port, family="ipv4", timeout_s=timeout_s)
    except OSError as error:
        first = error
    try:
        return await connect(port, family="ipv6", timeout_s=timeout_s)
    except OSError:
        raise first from None


async def _read_answer(reader: asyncio.StreamReader) -> _Answer:
    for _ in range(MAX_INTERIM):
        answer, length = _parse_head(await _read_head(reader))
        if answer.status >= _FIRST_FINAL:
            await _read_body(reader, length)
            return answer
    raise _NotHttp("sent interim responses without end")


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise _NotHttp("sent a response head without end") from error
    except asyncio.IncompleteReadError as error:
        what = "something that is not HTTP" if error.partial else "nothing"
        raise _NotHttp(f"closed the connection after sending {what}") from error


def _parse_head(head: bytes) -> tuple[_Answer, int | None]:
    line, _, rest = head.partition(b"\r\n")
    match = _STATUS_LINE.match(line)
    if match is None:
        raise _NotHttp("sent something that is not HTTP")
    answer = _Answer(status=int(match[1]), location=None)
    length: int | None = None
    for raw in rest.decode("latin-1").split("\r\n"):
        name, _, value = raw.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "location":
            answer.location = value
        elif name == "set-cookie" and "=" in value:
            key, _, cookie = value.partition(";")[0].partition("=")
            answer.cookies[_wire(key.strip())] = _wire(cookie.strip())
        elif name == "content-length" and _DIGITS.fullmatch(value):
            length = int(value[:18])
    return answer, length


async def _read_body(reader: asyncio.StreamReader, length: int | None) -> None:
    """Wait for the first part of the body; a document may go on streaming for ever after it."""
    if length == 0:
        return
    wanted = MAX_BODY_BYTES if length is None else min(length, MAX_BODY_BYTES)
    seen = len(await reader.read(wanted))
    if length is not None and seen == 0:
        raise _NotHttp("closed the connection before its document")


def _wire(text: str) -> str:
    return "".join(c if " " < c != "\x7f" else f"%{ord(c):02X}" for c in text[:4096])
