# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Files in memory that carry what goes into a box and what comes out of it."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def sealed_input(data: bytes) -> int:
    """A descriptor to read bytes from, which its holder cannot change."""
    fd = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(fd)


def open_log(path: Path | None) -> int:
    """A descriptor for output: of a host file that is added to, else of a file in memory.

    Raises:
        OSError: the file cannot be opened.
    """
    if path is None:
        return os.memfd_create("log", os.MFD_CLOEXEC)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def read_text(fd: int, limit: int) -> str:
    """What a bounded output of at most `limit` bytes (and its marker) holds."""
    return os.pread(fd, limit + 200, 0).decode("utf-8", "replace")
