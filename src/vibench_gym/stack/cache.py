# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where things made once are kept between runs: toolchain copies, templates, the mirror's files.

Invariant: an entry appears under its final name only when it is complete, and only one process
makes it. No app ever writes here; boxes see parts of it read-only.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.sandbox.cleanup.work_folder import WorkFolder, work_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from vibench_gym.core.config import StackConfig


_LOCK_POLL_S = 0.1


def cache_root(config: StackConfig | None = None) -> Path:
    """The configured cache folder, else the user's; made when missing."""
    if config is not None and config.cache_dir is not None:
        root = config.cache_dir
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        root = Path(base) / "vibench-gym"
    root.mkdir(parents=True, exist_ok=True)
    return root


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path` (made when missing); blocks, so call it in a thread."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def made_once(entry: Path, make: Callable[[Path], None]) -> Path:
    """Return `entry`, letting `make(folder)` fill it first where it does not exist yet. Blocks."""
    if entry.is_dir():
        return entry
    with locked(_lock_of(entry)):
        if not entry.is_dir():
            with WorkFolder("making", entry.parent) as making:
                content = making / "content"
                content.mkdir()
                content.chmod(0o755)  # not by the umask: boxes have users of their own
                make(content)
                content.rename(entry)
    return entry


async def made_once_async(entry: Path, make: Callable[[Path], Awaitable[None]]) -> Path:
    """As `made_once`, but `make` is awaited and makes the folder itself, with the mode it wants."""
    if await asyncio.to_thread(entry.is_dir):
        return entry
    await asyncio.to_thread(entry.parent.mkdir, parents=True, exist_ok=True)
    async with _locked_async(_lock_of(entry)):
        if not await asyncio.to_thread(entry.is_dir):
            async with work_folder("making", entry.parent) as making:
                await make(making / "content")
                (making / "content").rename(entry)
    return entry


def _lock_of(entry: Path) -> Path:
    return entry.parent / f".{entry.name}.lock"


@contextlib.asynccontextmanager
async def _locked_async(path: Path) -> AsyncIterator[None]:
    """As `locked`, by asking again: a thread that waits for a lock cannot be cancelled."""
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_LOCK_POLL_S)
        yield


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree of ours, by hard links where the file system allows (nobody writes to either)."""
    shutil.copytree(source, target, symlinks=True, copy_function=_place, dirs_exist_ok=True)


def copy_program(source: Path, folder: Path) -> None:
    """Copy one program into a folder, so that boxes may run it."""
    copy = folder / source.name
    shutil.copyfile(source, copy)
    copy.chmod(0o755)  # not by the umask of who installed it


def _place(origin: str, copy: str) -> str:
    try:
        os.link(origin, copy)
    except OSError:
        shutil.copy2(origin, copy)
    return copy
