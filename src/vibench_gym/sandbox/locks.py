# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Locks that say "its owner is alive", on files and folders; the kernel releases them at any end.

Only what nobody holds a lock on was left behind by a dead process.
Invariant: a lock that is held is on what the path names now, never on something removed meanwhile.
Standard library only: the janitor and the zone daemon import this.
"""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def try_lock(path: Path) -> int | None:
    """Lock a file that is made where it is missing; None where somebody else has it.

    Raises:
        OSError: it cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return _locked(path, os.open(path, flags, 0o600), fcntl.LOCK_EX)


def mark_alive(folder: Path | str) -> int | None:
    """Mark a folder as in use for as long as the descriptor is open; None where it went away.

    Raises:
        OSError: it cannot be opened for another reason.
    """
    try:
        descriptor = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return None
    return _locked(folder, descriptor, fcntl.LOCK_SH)


def try_claim(path: Path | str) -> int | None:
    """Lock a folder or file whose owner is gone; None where it is in use or away.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    return _locked(path, descriptor, fcntl.LOCK_EX)


def _locked(path: Path | str, descriptor: int, how: int) -> int | None:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        if _is(path, descriptor):
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is(path: Path | str, descriptor: int) -> bool:
    """Whether it was not removed between our opening and our locking it."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
