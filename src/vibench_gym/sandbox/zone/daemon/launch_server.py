# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The zone daemon's side of `launch_client`: boxes that live and die with a program on the host.

Invariants: only a program of our own uid that knows a token is given its box, and no other one.
"""

from __future__ import annotations

import os
import socket
import struct

from vibench_gym.sandbox.zone.daemon.protocol import Decoder, ProtocolBroken, close_all, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_PEER = struct.Struct("3i")


class LaunchServer:
    """The boxes on offer, by token, and the launch clients whose boxes run."""

    def __init__(
        self,
        watch: Callable[[int, Callable[[], None]], None],
        unwatch: Callable[[int], None],
        start: Callable[[str, Mapping[str, Any], Sequence[int | None]], None],
        kill: Callable[[str], None],
    ) -> None:
        self._watch = watch
        self._unwatch = unwatch
        self._start = start
        self._kill = kill
        self._offers: dict[str, Mapping[str, Any]] = {}
        self._clients: dict[str, socket.socket] = {}
        self._count = 0

    def offer(self, token: str, spec: Mapping[str, Any]) -> None:
        """Let a launch client that knows the token start this box."""
        self._offers[token] = spec

    def accept(self, listener: socket.socket) -> None:
        """Accept a launch client, if it runs with our uid."""
        try:
            sock, _address = listener.accept()
        except OSError:
            return
        peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        if _PEER.unpack(peer)[1] != os.geteuid():
            sock.close()
            return
        sock.setblocking(False)
        self._count += 1
        name = f"launched-{self._count}"
        decoder = Decoder()
        self._clients[name] = sock
        self._watch(sock.fileno(), lambda: self._take(name, sock, decoder))

    def ended(self, name: str, code: int) -> bool:
        """Send a box's exit code to its launch client; False if the box has none."""
        if name not in self._clients:
            return False
        self._drop(name, code)
        return True

    def _take(self, name: str, sock: socket.socket, decoder: Decoder) -> None:
        try:
            open_still = decoder.receive(sock)
            for message, fds in decoder.frames():
                try:
                    self._launch(name, message, fds)
                finally:
                    close_all(fds)
        except (OSError, ValueError, KeyError, ProtocolBroken):
            open_still = False
        if not open_still:
            decoder.close()
            self._drop(name)
            self._kill(name)

    def _launch(self, name: str, message: Mapping[str, Any], fds: list[int]) -> None:
        spec = self._offers[message["token"]]
        spec = {**spec, "argv": [*spec["argv"], *message["argv"]], "logs": False}
        places: list[int | None] = [None] * (max(message["fds"], default=0) + 1)
        for place, fd in zip(message["fds"], fds, strict=True):
            places[place] = fd
        self._start(name, spec, places)

    def _drop(self, name: str, code: int | None = None) -> None:
        sock = self._clients.pop(name, None)
        if sock is None:
            return
        self._unwatch(sock.fileno())
        try:
            if code is not None:
                send(sock, {"code": code})
        except OSError:
            pass
        finally:
            sock.close()
