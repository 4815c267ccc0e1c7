# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where the files that set-up left are kept while plans start from them.

Thousands of small files are an order of magnitude cheaper to make in memory than on disk. Memory is
used only where there is plenty; a host or container with little of it gets a folder on disk.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from vibench_gym.core.config import GIB
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

MEMORY = Path("/dev/shm")  # noqa: S108 (a private folder is made in it)
KEPT_FREE_BYTES = 4 * GIB
SHARE = 8
"""A snapshot takes at most one in this many bytes of what is free."""


def snapshot_folder(state_bytes: int, memory: Path = MEMORY) -> WorkFolder:
    """A folder for a snapshot of this size; removed when the grader dies."""
    return WorkFolder("snapshot", memory if _fits(state_bytes, memory) else None)


def _fits(state_bytes: int, memory: Path) -> bool:
    try:
        space = os.statvfs(memory)
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return False
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    if match is None or not os.access(memory, os.W_OK):
        return False
    free = min(space.f_bavail * space.f_frsize, int(match[1]) * 1024 - KEPT_FREE_BYTES)
    return state_bytes * SHARE <= free
