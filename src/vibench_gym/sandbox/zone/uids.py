# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Host uids for boxes: as root, three of their own for each artifact; else our own for all.

Two artifacts that are graded at once never share a uid, so that neither can signal or read the
other should a namespace ever fail. A lease is a lock on a file, gone with the process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.sandbox.locks import try_lock

BASE = 200_000
SLOTS = 1000
_PER_SLOT = 3
_SMALL_BASE = 50_000
"""Used where the host maps too few uids, as rootless containers do."""
_CAP_SYS_ADMIN = 21
LEASES = Path("/run/vibench-gym/uids")
"""One file for each lease that was ever taken; it is locked while the lease is held."""


def uid_base() -> int | None:
    """First uid of the range, or None where boxes have to run as our own uid."""
    if os.geteuid() != 0 or not _may_administrate():
        return None
    for base in (BASE, _SMALL_BASE):
        if _mapped("uid_map", base) and _mapped("gid_map", base):
            return base
    return None


def _may_administrate() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1)
    return False


def _mapped(table: str, base: int) -> bool:
    for line in Path(f"/proc/self/{table}").read_text().splitlines():
        first, _, count = (int(field) for field in line.split())
        if first <= base and base + SLOTS * _PER_SLOT <= first + count:
            return True
    return False


class UidLease:
    """Uids for the boxes of one artifact; release it when the last zone is closed."""

    def __init__(self, first: int | None, lock: int | None) -> None:
        self._first = first
        self._lock = lock

    @classmethod
    def acquire(cls) -> Self:
        """Lease three uids that no other grader on this host uses.

        Raises:
            SandboxUnavailable: all are in use, or the lock folder cannot be made.
        """
        base = uid_base()
        if base is None:
            return cls(None, None)
        try:
            folder = LEASES
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for slot in range(SLOTS):
                lock = try_lock(folder / str(slot))
                if lock is not None:
                    return cls(base + slot * _PER_SLOT, lock)
        except OSError as error:
            raise SandboxUnavailable(f"cannot lease uids for boxes: {error}") from error
        raise SandboxUnavailable(f"all {SLOTS} leases of uids are in use")

    @property
    def dedicated(self) -> bool:
        """Whether boxes have uids of their own, apart from this process's."""
        return self._first is not None

    @property
    def app(self) -> int:
        """Host uid (and gid) of the app's processes and files."""
        return os.geteuid() if self._first is None else self._first

    @property
    def database(self) -> int:
        """Host uid (and gid) of PostgreSQL's processes and files."""
        return os.geteuid() if self._first is None else self._first + 1

    @property
    def browser(self) -> int:
        """Host uid (and gid) of Chromium."""
        return os.geteuid() if self._first is None else self._first + 2

    def release(self) -> None:
        """Give the uids back; safe to call twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
