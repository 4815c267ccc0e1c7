# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A box's output on its way from a pipe into a bounded file."""

from __future__ import annotations

import os

from vibench_gym.sandbox.zone.daemon.bounded_log import BoundedLog

_READ = 65536
_FIRST_WORDS = 300
_READ_PER_TICK = 4 * 1024 * 1024
"""Read from one output between two ticks at most: a box that prints without end has to wait."""


class OutputPipe:
    """The pipe that a box prints into, and the bounded file where it goes."""

    def __init__(self, target: int, limit: int) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.reader, False)
        self._log = BoundedLog(target, limit)
        self._allowance = _READ_PER_TICK
        self.first = b""
        self.closed = False

    def read(self) -> bool:
        """Take what there is; False when nothing more may be read until the next tick."""
        try:
            data = os.read(self.reader, _READ)
        except BlockingIOError:
            return True
        if not data:
            self.close()
            return False
        if len(self.first) < _FIRST_WORDS:
            self.first += data[: _FIRST_WORDS - len(self.first)]
        self._log.feed(data)
        self._allowance -= len(data)
        return self._allowance > 0

    def tick(self) -> None:
        """Renew the allowance and bring the file up to date."""
        self._allowance = _READ_PER_TICK
        self._log.flush()

    def drain(self) -> None:
        """Take what is left in the pipe, which may be held open elsewhere, and close."""
        for _ in range(64):
            if self.closed:
                return
            before = self._allowance
            self.read()
            if self._allowance == before:
                break
        self.close()

    def close(self) -> None:
        """Stop reading; safe to call twice."""
        if not self.closed:
            self.closed = True
            os.close(self.reader)
            self._log.close()
