# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Removes what is left when the grader is killed: folders, control groups, containers.

A process of its own session, started with the first work folder, that waits for the grader's end.
Whoever cleans up normally strikes its entries off the list (`janitor_list`); what is still on it
when the grader is gone is removed. Standard library only.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.sandbox.cleanup import docker_objects
from vibench_gym.sandbox.cleanup.janitor_list import (
    JanitorList,
    isolated_python,
    read_to_the_owners_end,
)
from vibench_gym.sandbox.cleanup.locks import mark_alive
from vibench_gym.sandbox.zone.daemon.cgroup import remove_zone

if TYPE_CHECKING:
    from types import TracebackType

PREFIX = "vibench-gym-"
_OWN = "of"
_REMOVE_TIMEOUT_S = 60.0
_TRIES_FOR_S = 8.0


def remove_tree(path: Path) -> bool:
    """Remove a folder of any depth and of any modes; False if something is left of it."""
    environment = {"LC_ALL": "C"}
    commands = [["/usr/bin/rm", "-rf", "--one-file-system", "--", str(path)]]
    if os.geteuid() != 0:
        commands.insert(0, ["/usr/bin/chmod", "-R", "u+rwX", "--", str(path)])
    for command in commands:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603  fixed tools, our own path
                command,
                env=environment,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_REMOVE_TIMEOUT_S,
            )
    return not os.path.lexists(path)


class WorkFolder:
    """A private folder that does not outlive the grader; remove it when done.

    A lock marks it as in use, so that `vibench-gym gc` can tell what a crash left behind.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        self._parent = (parent or Path(tempfile.gettempdir())).resolve()
        self._alive: int | None = None
        while self._alive is None:  # whoever collects garbage may come between the two steps
            self.path = self._parent / f"{PREFIX}{name}-{secrets.token_hex(6)}"
            register(self.path, "tree")
            self.path.mkdir(mode=0o700)
            self._alive = mark_alive(self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder and what is in it; safe to call twice. Blocks: use a thread."""
        if remove_tree(self.path):
            forget(self.path)
        alive, self._alive = self._alive, None
        if alive is not None:
            os.close(alive)


def own_temporary_folder() -> None:
    """Let this program and all it starts keep temporary files in a folder that goes with it.

    For programs whose libraries make such files on import; call it before that.
    """
    if not _is_own(Path(tempfile.gettempdir())):
        folder = WorkFolder(_OWN)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder.path)
        atexit.register(folder.remove)


def host_temporary_folder() -> Path:
    """The system's temporary folder, whatever `own_temporary_folder` made of it."""
    folder = Path(tempfile.gettempdir())
    return folder.parent if _is_own(folder) else folder


def _is_own(folder: Path) -> bool:
    return folder.name.startswith(f"{PREFIX}{_OWN}-")


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs one of the sandbox's stdlib-only modules apart from site-packages."""
    return isolated_python(f"vibench_gym.sandbox.{module}", *arguments)


_list = JanitorList(lambda owner: python_command("cleanup.janitor", owner))


def register(path: Path | str, kind: str) -> None:
    """Have a folder ("tree") or control group ("cgroup") removed if this process is killed.

    What is labelled in a Docker engine ("docker") is named by `docker_objects.entry`.
    """
    _list.add(str(path), kind)


def forget(path: Path | str) -> None:
    """Strike an entry off the list, after it was removed."""
    _list.strike(str(path))


def _clean(entries: dict[str, str]) -> None:
    # Containers first: folders are mounted in them. Each takes seconds, so all go at once.
    told = [path for path, kind in entries.items() if kind == docker_objects.KIND]
    sweeps = [threading.Thread(target=docker_objects.remove_for_sure, args=(t,)) for t in told]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    for path in told:
        del entries[path]
    deadline = time.monotonic() + _TRIES_FOR_S
    while entries and time.monotonic() < deadline:
        for path, kind in list(entries.items()):
            done = remove_zone([path], 0.1) if kind == "cgroup" else remove_tree(Path(path))
            if done:
                del entries[path]
        time.sleep(0.05)


def main() -> None:
    """Wait until the grader, whose pid is the last argument, is gone; then clean up."""
    _clean(read_to_the_owners_end(int(sys.argv[-1])))
