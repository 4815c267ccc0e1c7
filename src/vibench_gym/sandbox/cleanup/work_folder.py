# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Private folders that do not outlive the process that made them, however that ends.

Each is on the janitor's list before it is made, and locked for as long as it is used. Standard
library only: `own_temporary_folder` runs before a program's libraries are imported.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import secrets
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.sandbox.cleanup.janitor import forget, register
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.locks import mark_alive

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

PREFIX = "vibench-gym-"
_OWN_TEMPORARY = "of"


class WorkFolder:
    """A private folder that does not outlive the grader; remove it when done.

    A lock marks it as in use, so that `vibench-gym gc` can tell what a crash left behind.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        self._parent = (parent or Path(tempfile.gettempdir())).resolve()
        self._alive: int | None = None
        while self._alive is None:  # `vibench-gym gc` may come between the two steps
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


@contextlib.asynccontextmanager
async def work_folder(name: str, parent: Path | None = None) -> AsyncIterator[Path]:
    """A folder below `parent`, or the system's temporary folder.

    Raises:
        OSError: it cannot be made.
    """
    folder = await asyncio.to_thread(WorkFolder, name, parent)
    try:
        yield folder.path
    finally:
        await asyncio.shield(asyncio.to_thread(folder.remove))


def own_temporary_folder() -> None:
    """Let this program and all it starts keep temporary files in a folder that goes with it.

    For programs whose libraries make such files on import; call it before that.
    """
    if not _is_own(Path(tempfile.gettempdir())):
        _exit_on_signals()
        folder = WorkFolder(_OWN_TEMPORARY)
        atexit.register(folder.remove)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder.path)


def _exit_on_signals() -> None:
    """Let a request to end run what `atexit` holds: by default it ends a program at once.

    So a server that is told to end while it starts takes its folder with it, janitor or not.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _frame: sys.exit(128 + number))


def host_temporary_folder() -> Path:
    """The system's temporary folder, whatever `own_temporary_folder` made of it."""
    folder = Path(tempfile.gettempdir())
    return folder.parent if _is_own(folder) else folder


def _is_own(folder: Path) -> bool:
    return folder.name.startswith(f"{PREFIX}{_OWN_TEMPORARY}-")
