# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Cleans up after runs of ViBench's scripts when the grader is killed. Standard library only.

A process of its own session that holds a list of runs and waits for the grader's end: then it ends
the scripts that still run, removes what they made on the Docker engine, and removes their folders,
in this order, because the folder holds the ledger. Credentials are no part of what it is told.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shutil
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vibench_gym.grading.vibench import leftovers

_REMOVE_FOR_S = 120.0


@dataclass(frozen=True, slots=True)
class Run:
    """What the janitor has to know of a run."""

    run: str
    folder: str
    docker: str
    environment: dict[str, str]
    """For the docker client: where the engine is."""


class _Link:
    """The pipe to the janitor of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe = -1
        self._owner = 0

    def say(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        with self._lock:
            if self._owner != os.getpid():
                self._start()
            try:
                os.write(self._pipe, line)
            except BrokenPipeError:
                self._start()
                os.write(self._pipe, line)

    def _start(self) -> None:
        reader, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._owner = os.getpid()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        actions = [(os.POSIX_SPAWN_DUP2, reader, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (1, 2)]
        argv = program("janitor")
        os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsid=True)
        os.close(reader)
        os.close(null)

    def close(self) -> None:
        """Let the janitor end."""
        with self._lock:
            if self._owner == os.getpid():
                os.close(self._pipe)
                self._owner = 0


_link = _Link()
atexit.register(_link.close)


def program(module: str) -> list[str]:
    """The command that runs one of this package's stdlib-only modules apart from site-packages."""
    source = Path(__file__).resolve().parents[3]
    code = (
        "import sys; sys.path.append(sys.argv.pop(1)); "
        f"from vibench_gym.grading.vibench.{module} import main; main()"
    )
    return [sys.executable, "-I", "-S", "-c", code, str(source)]


def register(run: Run) -> None:
    """Have a run cleaned up if this process is killed."""
    _link.say({"add": asdict(run)})


def started(run: str, pid: int) -> None:
    """Tell of a script of a run; it leads a process group of its own."""
    _link.say({"run": run, "pid": pid})


def ended(run: str, pid: int) -> None:
    """Tell that a script and its group are gone."""
    _link.say({"run": run, "gone": pid})


def forget(run: str) -> None:
    """Strike a run off the list, after it was cleaned up."""
    _link.say({"drop": run})


def main() -> None:
    """Keep the list until the grader is gone; then clean up."""
    runs: dict[str, Run] = {}
    groups: dict[str, set[int]] = {}
    pending = b""
    while data := _read():
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            _learn(json.loads(line), runs, groups)
    for pid in {pid for found in groups.values() for pid in found}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for run in runs.values():
        leftovers.remove(run.docker, run.environment, run.run, run.folder, _REMOVE_FOR_S)
        shutil.rmtree(run.folder, ignore_errors=True)


def _read() -> bytes:
    select.select([0], [], [])
    return os.read(0, 65536)


def _learn(message: dict[str, Any], runs: dict[str, Run], groups: dict[str, set[int]]) -> None:
    if "add" in message:
        run = Run(**message["add"])
        runs[run.run] = run
    elif "drop" in message:
        runs.pop(message["drop"], None)
        groups.pop(message["drop"], None)
    elif "pid" in message:
        groups.setdefault(message["run"], set()).add(message["pid"])
    else:
        groups.get(message["run"], set()).discard(message["gone"])
