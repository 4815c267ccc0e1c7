# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The list of what a janitor removes if its owner is killed.

The owner writes it, and the janitor, a process of its own, reads it. A pipe joins the two; the
kernel closes it however the owner ends. If a janitor died, the next entry starts a new one, which
gets the whole list. Each janitor module says what its entries mean and how they are removed.
Standard library only.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import threading
from typing import Any

from vibench_gym.sandbox.isolated_python import isolated_python


class JanitorList:
    """The owner's end: entries by name, each a value that JSON can hold.

    The janitor is the `main` of the module of that name, a stdlib-only one. It starts with the
    first entry, in a session of its own; its argument is the owner's pid.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._pipe = -1
        self._owner = 0
        self._entries: dict[str, Any] = {}
        atexit.register(self.close)

    def add(self, name: str, value: Any) -> None:
        """Have an entry removed if this process is killed."""
        self._say("add", name, value)

    def strike(self, name: str) -> None:
        """Take an entry off the list, after it was removed."""
        self._say("strike", name, None)

    def close(self) -> None:
        """Let the janitor end; what is still on the list it removes."""
        with self._lock:
            if self._owner == os.getpid():
                os.close(self._pipe)
                self._owner = 0

    def _say(self, action: str, name: str, value: Any) -> None:
        with self._lock:
            if self._owner != os.getpid():
                self._entries.clear()  # a forked child answers for nothing of its parent's
                self._start()
            try:
                self._write(action, name, value)
            except BrokenPipeError:
                os.close(self._pipe)
                self._start()
                for listed, listed_value in self._entries.items():
                    self._write("add", listed, listed_value)
                self._write(action, name, value)
            if action == "add":
                self._entries[name] = value
            else:
                self._entries.pop(name, None)

    def _write(self, action: str, name: str, value: Any) -> None:
        os.write(self._pipe, json.dumps([action, name, value]).encode() + b"\n")

    def _start(self) -> None:
        reader, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._owner = os.getpid()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        actions = [(os.POSIX_SPAWN_DUP2, reader, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (1, 2)]
        argv = isolated_python(self._module, str(os.getpid()))
        os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsid=True)
        os.close(reader)
        os.close(null)


def read_until_owner_ends(owner: int) -> dict[str, Any]:
    """The janitor's end: what is on the list when its owner is gone. Reads descriptor 0."""
    entries: dict[str, Any] = {}
    pending = b""
    waiting = [0]
    with contextlib.suppress(OSError):  # a forked child may keep the pipe open
        waiting.append(os.pidfd_open(owner))
    while True:
        ready, _, _ = select.select(waiting, [], [])
        data = os.read(0, 65536) if 0 in ready else b""
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            action, name, value = json.loads(line)
            if action == "add":
                entries[name] = value
            else:
                entries.pop(name, None)
        if not data:
            return entries
