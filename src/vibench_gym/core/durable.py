# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Writes that survive a power cut: a file is on the disk, whole and under its name, or it is not.

A rename may reach the disk before the data of the file, and a file before the folder that lists it.
So a file is synced before its rename and the folder after it; folders are synced into their parents
as they are made. All of this blocks: use a thread.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_counter = itertools.count()


def write_atomic(path: Path, data: str | bytes, *, lasting: bool = True) -> None:
    """Replace a file in one step: a reader sees the old or the new content, never a part.

    Once this returns, a power cut leaves the new content; what is not `lasting`, as in a cache
    that is checked when it is read, may then be lost or cut.

    Raises:
        OSError: it cannot be written.
    """
    make_folder(path.parent)
    beside = path.parent / f".{path.name}.{os.getpid()}.{next(_counter)}.tmp"
    try:
        beside.write_bytes(data.encode() if isinstance(data, str) else data)
        move_into_place(beside, path) if lasting else beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def move_into_place(source: Path, target: Path) -> None:
    """Rename a finished file, on the same file system, over `target`.

    Raises:
        OSError: it cannot be synced or renamed.
    """
    _sync(source, os.O_RDONLY)
    source.replace(target)
    sync_folder(target.parent)


def make_folder(path: Path) -> None:
    """Make a folder with its parents, where they are missing.

    Raises:
        OSError: one of them cannot be made.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def remove_folder(path: Path, *, first: str) -> None:
    """Remove a folder with all that is in it, where there is one.

    `first` is the file that says that the folder is whole. It is gone for good before anything
    else is touched: what an end half way, or a power cut, leaves of the folder passes for nothing.

    Raises:
        OSError: something of it stays.
    """
    if path.is_dir():
        (path / first).unlink(missing_ok=True)
        sync_folder(path)
        shutil.rmtree(path)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk.

    Raises:
        OSError: the disk failed.
    """
    try:
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what a file system says that has no such thing
            raise


def sync_tree(path: Path) -> None:
    """Wait until all files and folders below a folder, and their content, are on the disk.

    Raises:
        OSError: the disk failed.
    """
    for folder, _, names, descriptor in os.fwalk(path, follow_symlinks=False):
        del folder
        for name in names:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            if stat.S_ISREG(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                file = os.open(name, flags, dir_fd=descriptor)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)
        os.fsync(descriptor)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
