# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the beginning and the end of what a box prints, in a file that cannot grow without end.

The first half of the allowance is written as it comes. What follows goes round in memory and is
written behind a marker from time to time, so that the file is always readable and bounded.
Standard library only: the zone daemon imports this.
"""

from __future__ import annotations

import os

MARKER = b"\n[... %d bytes left out ...]\n"


class BoundedLog:
    """What one process adds to an output file; owns the descriptor."""

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = fd
        self._start = os.lseek(fd, 0, os.SEEK_END)
        self._head = limit // 2
        self._tail_size = limit - self._head
        self._tail = bytearray()
        self._seen = 0
        self._dirty = False

    def feed(self, data: bytes) -> None:
        """Take output."""
        room = max(0, self._head - self._seen)
        self._seen += len(data)
        if room:
            self._write(data[:room], self._seen - len(data))
        if len(data) > room:
            self._tail += data[room:]
            self._dirty = True
            if len(self._tail) > 2 * self._tail_size:
                del self._tail[: -self._tail_size]

    def flush(self) -> None:
        """Bring the file up to date."""
        if not self._dirty:
            return
        self._dirty = False
        if len(self._tail) > self._tail_size:
            del self._tail[: -self._tail_size]
        dropped = self._seen - self._head - len(self._tail)
        text = (MARKER % dropped if dropped else b"") + self._tail
        self._write(text, self._head)
        self._truncate(self._head + len(text))

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        os.close(self._fd)

    def _write(self, data: bytes, offset: int) -> None:
        view = memoryview(data)
        try:
            while view:
                written = os.pwrite(self._fd, view, self._start + offset)
                view, offset = view[written:], offset + written
        except OSError:  # a full host disk may cost a log, never a box
            return

    def _truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, self._start + size)
        except OSError:
            return
