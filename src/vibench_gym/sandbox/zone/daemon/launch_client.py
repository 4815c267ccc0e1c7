# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A program on the host that stands for a box in a zone, for callers that start programs by path.

Playwright starts this instead of Chromium. It passes its descriptors and arguments on to the zone
daemon (`launch_server` there), which starts the box. Killing this program closes its socket, and
the daemon then kills the box; when the box ends, this program exits with the box's code. Standard
library only.
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


def _drop_descriptors(fds: list[int]) -> None:
    """Keep no end of the caller's pipes, so that it sees the box's end as their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(nothing, fd)


def _wait_for_code(sock: socket.socket) -> int:
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
            _drop_descriptors(fds)
            code = _wait_for_code(sock)
    except (OSError, ValueError, ProtocolBroken):
        code = _GONE
    os._exit(code)
