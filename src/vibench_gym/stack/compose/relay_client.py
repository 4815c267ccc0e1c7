# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The relay's client, in the grader: Unix sockets in a private folder that both sides see."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.stack.compose import relay_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vibench_gym.stack.readiness import Family

STATE_TIMEOUT_S: Final = 60.0
_MAX_LINE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class NetworkState:
    """What the relay sees in the containers' network and volumes."""

    listening_ports: tuple[int, ...]
    used_bytes: int
    """In all volumes."""


async def connect(folder: Path, port: int, *, family: Family, timeout_s: float) -> socket.socket:
    """A non-blocking socket whose other end is a port of the containers' loopback.

    Raises:
        OSError: nothing listens there, or it does not accept in time (TimeoutError).
        SandboxUnavailable: the relay is gone.
    """
    async with asyncio.timeout(timeout_s):
        sock = await _ask(folder, f"connect {family[-1]} {port}\n")
        try:
            answer = await _line(sock)
        except BaseException:
            sock.close()
            raise
    if answer == b"ok":
        return sock
    sock.close()
    word, _, number = answer.partition(b" ")
    if word != b"error" or not number.isdigit():
        raise SandboxUnavailable("the relay went away")
    raise OSError(int(number), os.strerror(int(number)))


async def state(folder: Path) -> NetworkState:
    """Ports on which something listens, and bytes used in the volumes.

    Raises:
        SandboxUnavailable: the relay is gone.
    """
    try:
        async with asyncio.timeout(STATE_TIMEOUT_S):
            with await _ask(folder, "state\n") as sock:
                answer = json.loads(await _line(sock))
        return NetworkState(tuple(answer["ports"]), int(answer["bytes"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxUnavailable(f"the relay does not answer: {error}") from error


def listener(folder: Path, port: int) -> socket.socket:
    """A listening socket to which a port of the containers' loopback leads.

    Raises:
        OSError: it cannot be made.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        with _short(folder) as place:
            path = f"{place}/{relay_server.outward_socket(port)}"
            sock.bind(path)
            os.chmod(path, 0o666)  # noqa: S103, PTH101 (its folder is closed to others)
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock


async def _ask(folder: Path, line: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        with _short(folder) as place:
            await loop.sock_connect(sock, f"{place}/{relay_server.SOCKET}")
        await loop.sock_sendall(sock, line.encode())
    except OSError as error:
        sock.close()
        raise SandboxUnavailable(f"the relay does not answer: {error}") from error
    except BaseException:
        sock.close()
        raise
    return sock


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[str]:
    """A path of that folder that is short enough for a socket's address."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


async def _line(sock: socket.socket) -> bytes:
    """One line, and not a byte of what follows it."""
    loop = asyncio.get_running_loop()
    line = bytearray()
    while len(line) < _MAX_LINE:
        data = await loop.sock_recv(sock, 1)
        if data in (b"\n", b""):
            break
        line += data
    return bytes(line)
