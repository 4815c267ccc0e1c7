# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import Problem, TaskInvalid
from vibench_gym.core.tasks.files import TaskFolder, natural_key, unique_ids
from vibench_gym.core.tasks.plan import MAX_PLAN_BYTES
from vibench_gym.core.tasks.task import load_benchmark, load_task

if TYPE_CHECKING:
    from pathlib import Path


def test_links_to_folders_are_not_entered(task_dir: Path) -> None:
    """Not even to folders of the task: its files would count twice, a loop without end."""
    (task_dir / "assets").mkdir()
    (task_dir / "assets/link").symlink_to(task_dir / "tests")
    (task_dir / "tests/mvp/up").symlink_to("..")
    files = TaskFolder(task_dir)
    assert files.text_files(task_dir / "tests") == ([task_dir / "tests/mvp/test1.txt"], [])
    problem = Problem(str(task_dir / "assets/link"), 1, "is not a regular file")
    assert files.check_folder(task_dir / "assets") == [problem]


def test_problems_come_in_order_and_hidden_folders_do_not_count(task_dir: Path) -> None:
    names = [
        "9", *(f"{folder}/{name}" for folder in ("a", "b", "c", "d") for name in ("x", "y", "z")),
    ]  # fmt: skip
    for name in reversed([*names, ".git/x", "a/.hidden"]):
        (task_dir / "assets" / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(task_dir / "assets" / name)
    found = TaskFolder(task_dir).check_folder(task_dir / "assets")
    assert [problem.file for problem in found] == [str(task_dir / "assets" / n) for n in names]


def test_a_file_that_is_too_large_is_not_read_in_part(task_dir: Path) -> None:
    path = task_dir / "tests/mvp/test1.txt"
    path.write_bytes(path.read_bytes().ljust(MAX_PLAN_BYTES + 1))
    problem = Problem(str(path), 1, f"is larger than {MAX_PLAN_BYTES} bytes")
    assert TaskFolder(task_dir).read_text(path) == (None, [problem])


def test_a_folder_that_is_not_there_holds_nothing(task_dir: Path) -> None:
    assert TaskFolder(task_dir).check_folder(task_dir / "assets") == []


def test_a_folder_outside_is_one_problem(task_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (task_dir / "assets").symlink_to(tmp_path / "outside")
    problem = Problem(str(task_dir / "assets"), 1, "leads out of the task folder")
    assert TaskFolder(task_dir).check_folder(task_dir / "assets") == [problem]


def test_as_many_files_as_may_be_and_no_more(
    task_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vibench_gym.core.tasks.files.MAX_FILES", 2)
    (task_dir / "assets").mkdir()
    for name in ("a", "b"):
        (task_dir / "assets" / name).touch()
    files = TaskFolder(task_dir)
    assert files.check_folder(task_dir / "assets") == []
    (task_dir / "assets/c").touch()
    problem = Problem(str(task_dir / "assets"), 1, "holds more than 2 files")
    assert files.check_folder(task_dir / "assets") == [problem]


def test_numbers_in_names_are_sorted_by_value() -> None:
    names = ["2", "10", "10a", "a", "a01", "a1", "a2", "a2b", "a2c1", "a10", "b1"]
    assert sorted({*names}, key=natural_key) == names


@pytest.mark.parametrize(
    ("stems", "ids"),
    [
        (["a", "a", "a"], ["m.a", "m.a-2", "m.a-3"]),
        (["a-2", "a", "A"], ["m.a-2", "m.a", "m.A-3"]),
        (["-a-", "a b", "a.b"], ["m.a", "m.a-b", "m.a-b-2"]),
    ],
)
def test_ids_are_told_apart_by_number(stems: list[str], ids: list[str]) -> None:
    assert unique_ids("m", stems) == ids


def test_a_folder_of_plans_outside_is_one_problem(task_dir: Path, tmp_path: Path) -> None:
    (task_dir / "tests/mvp").rename(tmp_path / "outside")
    (task_dir / "tests/mvp").symlink_to(tmp_path / "outside")
    with pytest.raises(TaskInvalid) as caught:
        load_task(task_dir)
    problem = Problem(str(task_dir / "tests/mvp"), 1, "leads out of the task folder")
    assert caught.value.problems == (problem,)


def test_a_plan_with_a_warning_is_a_plan(task_dir: Path) -> None:
    path = task_dir / "tests/mvp/test1.txt"
    path.write_text("\ufeff" + path.read_text())
    load_task(task_dir)
    (warning,) = load_benchmark(task_dir).problems
    assert (warning.file, warning.line, warning.severity) == (str(path), 1, "warning")


def test_a_file_that_is_no_text_has_no_plan_to_count(task_dir: Path) -> None:
    (task_dir / "tests/mvp/test2.txt").write_bytes(b"\xff")
    found = load_benchmark(task_dir)
    assert (found.plans, found.steps, found.points) == (2, 2, 5)
    assert [problem.message for problem in found.problems] == ["is not UTF-8: byte 0xff"]
