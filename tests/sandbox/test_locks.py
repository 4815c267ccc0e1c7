# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Locks that end with their process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.sandbox.locks import try_lock

if TYPE_CHECKING:
    from pathlib import Path


def test_a_lock_whose_file_was_taken_away_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = try_lock(path)
    assert first is not None
    assert try_lock(path) is None
    path.unlink()
    assert try_lock(path) is not None
