# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Stands on the host for a box in a zone: hands over its descriptors, lives and dies with it.

A program that wants to start Chromium by path (Playwright) starts this instead. Killing it closes
its socket, upon which the zone daemon kills the box; the box's end is answered with its exit code.
Standard library only.
"""

from __future__ import annotations

import os
import socket
import sys

from vibench_gym.sandbox.zone.daemon.protocol import Decoder, ProtocolBroken, send

_HANDED_OVER = range(5)
_GONE = 125
SOCKET_NAME = "s"


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _let_go(fds: list[int]) -> None:
    """Keep no end of the caller's pipes, so that it sees the box's end as their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(nothing, fd)


def _wait(sock: socket.socket) -> int:
    decoder = Decoder()
    while decoder.receive(sock):
        for message, _fds in decoder.frames():
            return int(message["code"])
    return _GONE


def main() -> None:
    """Arguments: the folder of the zone's socket, the token of the box, then the caller's own."""
    folder, token, *argv = sys.argv[1:]
    fds = [fd for fd in _HANDED_OVER if _is_open(fd)]
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(f"/proc/self/fd/{handle}/{SOCKET_NAME}")
            send(sock, {"token": token, "argv": argv, "fds": fds}, fds)
            _let_go(fds)
            code = _wait(sock)
    except (OSError, ValueError, ProtocolBroken):
        code = _GONE
    os._exit(code)
