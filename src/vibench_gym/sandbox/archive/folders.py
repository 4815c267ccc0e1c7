# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Folders by descriptor: listed, made, entered and removed without following a link."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vibench_gym.sandbox.archive.members import too_large

if TYPE_CHECKING:
    from vibench_gym.sandbox.archive.members import BudgetMeter

Path = tuple[bytes, ...]
"""The names from the root down; () is the root itself."""
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def names_in(folder: int, meter: BudgetMeter) -> list[bytes]:
    """The sorted names in an open folder.

    Raises:
        ArtifactRejected: there are more than the budget's members.
    """
    names: list[bytes] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.append(os.fsencode(entry.name))
            if len(names) > meter.budget.members:
                too_large(f"more than {meter.budget.members} members")
    return sorted(names)


def enter(parent: int, name: bytes, meter: BudgetMeter) -> int:
    """A folder in an open one, made (and counted) where it is missing.

    Raises:
        OSError: a file or link is in its way, or our own file system failed.
    """
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        meter.add_folder()
        os.mkdir(name, 0o700, dir_fd=parent)
        # mkdir is cut by the umask; what the archive does not name gets the usual mode.
        folder = os.open(name, FOLDER_FLAGS, dir_fd=parent)
        os.fchmod(folder, 0o755)
        return folder


def walk(root: int, path: Path) -> int:
    """An existing folder below an open one.

    Raises:
        OSError: there is no such folder.
    """
    current = os.dup(root)
    for name in path:
        try:
            following = os.open(name, FOLDER_FLAGS, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


def remove_below(name: bytes, parent: int) -> None:
    """Remove a folder and all below it by descriptors; links are removed, not followed."""
    folder = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    try:
        os.fchmod(folder, 0o700)
        clear_folder(folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=parent)


def clear_folder(folder: int) -> None:
    """Empty an open folder."""
    with os.scandir(folder) as entries:
        children = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in children:
        if is_folder:
            remove_below(os.fsencode(name), folder)
        else:
            os.unlink(name, dir_fd=folder)
