# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Of a file that is too large no more is read than is needed to know it."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ConfigError, TaskInvalid
from vibench_gym.core.record_files import MAX_RECORD_BYTES
from vibench_gym.core.rundir import PlanDir
from vibench_gym.core.tasks.files import TaskFolder
from vibench_gym.core.tasks.yaml_file import read_yaml_mapping

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MIB = 1 << 20


def peak_of(doing: Callable[[], object]) -> int:
    """The most bytes that were held at a time."""
    tracemalloc.start()
    try:
        doing()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def endless(path: Path, size: int) -> Path:
    """A file with one line of that size, which takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_plans(task_dir: Path) -> None:
    path = endless(task_dir / "tests/mvp/test9.txt", 64 * MIB)
    assert peak_of(lambda: TaskFolder(task_dir).read_text(path)) < 16 * MIB


def test_yaml(tmp_path: Path) -> None:
    path = endless(tmp_path / "x.yaml", 64 * MIB)

    def read() -> None:
        with pytest.raises(TaskInvalid, match="is larger than"):
            read_yaml_mapping(path)

    assert peak_of(read) < 16 * MIB


def test_events(tmp_path: Path) -> None:
    plan = PlanDir(tmp_path / "mvp.test1")
    endless(plan.events_path, 64 * MIB)
    assert peak_of(lambda: list(plan.events())) < 16 * MIB


def test_records(tmp_path: Path) -> None:
    plan = PlanDir(tmp_path / "mvp.test1")
    endless(plan.path / "plan.json", 3 * MAX_RECORD_BYTES)

    def read() -> None:
        with pytest.raises(ConfigError):
            plan.read_record()

    assert peak_of(read) < 2 * MAX_RECORD_BYTES
