# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The beginning and the end of an output are kept, within a bound."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.sandbox.zone.daemon.bounded_log import BoundedLog

if TYPE_CHECKING:
    from pathlib import Path


class TestBoundedLog:
    def _log(self, path: Path, limit: int) -> BoundedLog:
        return BoundedLog(os.open(path, os.O_RDWR | os.O_CREAT), limit)

    def test_short_output_is_kept_whole(self, tmp_path: Path) -> None:
        log = self._log(tmp_path / "log", 100)
        for _ in range(10):
            log.feed(b"0123456789")
        log.close()
        assert (tmp_path / "log").read_bytes() == b"0123456789" * 10

    @given(st.lists(st.binary(max_size=60)), st.integers(1, 50))
    def test_head_and_tail_are_kept_and_the_rest_counted(
        self, chunks: list[bytes], limit: int
    ) -> None:
        fd = os.memfd_create("log")
        log = BoundedLog(os.dup(fd), limit)
        for number, chunk in enumerate(chunks):
            log.feed(chunk)
            if number % 3 == 0:
                log.flush()
        log.close()
        kept, whole = os.pread(fd, 10_000, 0), b"".join(chunks)
        os.close(fd)
        if len(whole) <= limit:
            assert kept == whole
        else:
            dropped = len(whole) - limit
            tail = whole[len(whole) - (limit - limit // 2) :]
            assert kept == (
                whole[: limit // 2] + b"\n[... %d bytes left out ...]\n" % dropped + tail
            )

    def test_a_full_disk_costs_the_log_only(self) -> None:
        log = BoundedLog(os.open("/dev/full", os.O_WRONLY), 10)
        log.feed(b"x" * 100)
        log.close()
