# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.tasks.references import reference_trees
from vibench_gym.core.tasks.task import bundled_tasks_dir

if TYPE_CHECKING:
    from pathlib import Path


def test_of_a_checkout(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / "results" / name / "RI_MVP" / "app").mkdir(parents=True)
    (tmp_path / "results" / "without").mkdir()
    (tmp_path / "results" / ".hidden" / "RI_MVP" / "app").mkdir(parents=True)
    (tmp_path / "results" / "README").touch()
    (tmp_path / "prds" / "c" / "reference" / "mvp").mkdir(parents=True)
    found = reference_trees(tmp_path)
    assert list(found) == ["a", "b"]
    assert found["a"] == tmp_path / "results" / "a" / "RI_MVP" / "app"


def test_of_tasks_and_of_one_task() -> None:
    tasks = bundled_tasks_dir()
    found = reference_trees(tasks)
    assert "pantry" in found
    assert reference_trees(tasks / "pantry") == {"pantry": found["pantry"]}


def test_a_tree_outside_of_the_root_is_none(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    task = tmp_path / "tasks" / "task"
    (task / "reference").mkdir(parents=True)
    (task / "reference" / "mvp").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="no reference implementation"):
        reference_trees(tmp_path / "tasks")


def test_no_such_root(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        reference_trees(tmp_path / "absent")
    assert str(caught.value) == (
        f"{str(tmp_path / 'absent')!r} holds no reference implementation: neither"
        " results/APP/RI_MVP/app nor APP/reference/mvp"
    )
