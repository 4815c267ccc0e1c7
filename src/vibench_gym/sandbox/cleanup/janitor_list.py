# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a janitor removes if its owner is killed: the owner writes a list, and the janitor reads it.

The two are joined by a pipe, which the kernel closes at any end of the owner's. A janitor that died
is replaced by a new one, which is told the whole list. Standard library only.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = Path(__file__).resolve().parents[2]


def isolated_python(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of our stdlib-only modules, without site-packages."""
    code = f"import sys; sys.path.append(sys.argv.pop(1)); from {module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", code, str(_PACKAGE.parent), *arguments]


class JanitorList:
    """The owner's end: entries by name, each a value that JSON can hold.

    The janitor starts with the first entry, in a session of its own, by `command(owner's pid)`.
    """

    def __init__(self, command: Callable[[str], list[str]]) -> None:
        self._command = command
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
        argv = self._command(str(os.getpid()))
        os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsid=True)
        os.close(reader)
        os.close(null)


def read_to_the_owners_end(owner: int) -> dict[str, Any]:
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
