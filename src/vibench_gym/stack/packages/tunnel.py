# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Relaying a set-up's traffic to hosts that the operator opened: never to this host or its network.

The address that was checked is the address that is connected to, so a name cannot change its mind
between the two.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from vibench_gym.stack.packages.http_wire import Request

CONNECT_TIMEOUT_S = 15.0
IDLE_S = 120.0
_HOST = re.compile(r"[a-z0-9_.:-]{1,253}")


def authority(request: Request) -> tuple[str, int]:
    """Host (lower case, `?` where it is no host name) and port that a proxy request is for."""
    text, default = request.target, 80
    if request.method == "CONNECT":
        text, default = f"//{request.target}", 443
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower(), parts.port or default
    except ValueError:
        return "?", default
    return (host if _HOST.fullmatch(host) else "?"), port


async def public_addresses(host: str, port: int) -> list[str]:
    """The host's addresses, or none where any of them is not on the public internet."""
    loop = asyncio.get_running_loop()
    try:
        found = await asyncio.wait_for(
            loop.getaddrinfo(host, port, type=socket.SOCK_STREAM), CONNECT_TIMEOUT_S
        )
    except (OSError, TimeoutError, UnicodeError):
        return []
    addresses = [str(info[4][0]) for info in found]
    return addresses if all(map(_is_public, addresses)) else []


async def relay(
    request: Request,
    rest: bytes,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    host: str,
    port: int,
) -> None:
    """Carry one CONNECT or absolute-form request to a public host, both ways, until either ends.

    `rest` is what the client has sent after the head.
    """
    addresses = await public_addresses(host, port)
    if not addresses:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        return
    try:
        far_reader, far_writer = await asyncio.wait_for(
            asyncio.open_connection(addresses[0], port), CONNECT_TIMEOUT_S
        )
    except (OSError, TimeoutError):
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return
    try:
        if request.method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            far_writer.write(_origin_form(request))
        far_writer.write(rest)
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, far_writer))
            group.create_task(_pump(far_reader, writer))
    finally:
        far_writer.close()


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_global and not ip.is_multicast


def _origin_form(request: Request) -> bytes:
    parts = urlsplit(request.target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    hop = (b"connection:", b"proxy-", b"keep-alive:")
    kept = [line for line in request.raw_headers.split(b"\r\n") if not line.lower().startswith(hop)]
    head = f"{request.method} {path} HTTP/1.1\r\n".encode("latin-1")
    return head + b"\r\n".join([*filter(None, kept), b"Connection: close"]) + b"\r\n\r\n"


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        while data := await asyncio.wait_for(reader.read(64 * 1024), IDLE_S):
            writer.write(data)
            await asyncio.wait_for(writer.drain(), IDLE_S)
        if writer.can_write_eof():
            writer.write_eof()
