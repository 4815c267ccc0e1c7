# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The small trusted process that holds one zone, as its first process.

Why it exists: namespaces live as long as a process in them, and only such a process can start
boxes there, make sockets there and hand them out. Being process 1 of its pid namespace, its
death ends everything in the zone and unmounts all of it; it dies when the grader does, by a
parent-death signal and by the end of its control socket. Nothing a box does reaches it except
bytes of bounded output. Standard library only; started with an empty environment.
"""

from __future__ import annotations

import os
import socket
import sys

from vibench_gym.sandbox.zone.daemon import mounts
from vibench_gym.sandbox.zone.daemon.event_loop import SEND_TIMEOUT_S, ZoneDaemon
from vibench_gym.sandbox.zone.daemon.protocol import Decoder, send
from vibench_gym.sandbox.zone.daemon.rootfs import HOST, ZoneRoot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def _hold(pid: int) -> int:
    """Wait for the zone's first process."""
    _, status = os.waitpid(pid, 0)
    return max(0, os.waitstatus_to_exitcode(status))


def main() -> None:
    """Become a zone: `main` is called with the control socket's descriptor as last argument."""
    os.umask(0o022)  # whatever the operator's is: other uids read what is made here
    control = socket.socket(fileno=int(sys.argv[-1]))
    control.settimeout(SEND_TIMEOUT_S)
    decoder = Decoder()
    first: list[tuple[Message, list[int]]] = []
    while not first:
        if not decoder.receive(control):
            return
        first = list(decoder.frames())
    config, fds = first[0]
    try:
        mounts.die_with_parent()
        if os.getppid() != config["parent"]:
            return
        userns = config["uids"] is None
        mounts.enter_namespaces(userns=userns)
        mounts.die_with_parent()
        pid = os.fork()
        if pid != 0:
            control.close()
            os._exit(_hold(pid))
        mounts.die_with_parent()
        mounts.loopback_up()
        root = ZoneRoot(config, userns=userns)
        root.build(config)
        agent = ZoneDaemon(control, config, root)
    except OSError as error:
        text = str(error).replace(HOST, "")
        send(control, {"event": "broken", "error": text, "errno": error.errno})
        return
    agent.serve(socket.socket(fileno=fds[0]))
    os._exit(0)
