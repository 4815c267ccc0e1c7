# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What is part of a task and what is not, how tasks are counted, and the words about what is wrong."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ConfigError, Problem, TaskInvalid
from vibench_gym.core.tasks.task import artifacts_of, load_benchmark, load_task

if TYPE_CHECKING:
    from pathlib import Path


def test_links_that_lead_out_of_a_task_are_no_part_of_it(
    task_dir: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "test1.qa.yaml").write_text("role: qa")
    (task_dir / "replay/mvp/test1.qa.yaml").symlink_to(outside / "test1.qa.yaml")
    for part in ("mutants/mvp", "reference/mvp"):
        for file in (task_dir / part).iterdir():
            file.unlink()
        (task_dir / part).rmdir()
        (task_dir / part).symlink_to(outside)
    task = load_task(task_dir)
    assert task.script(task.plans[0], "qa") is None
    assert (task.mutants, task.reference) == (None, None)
    with pytest.raises(KeyError, match="nothing"):
        task.plan("nothing")


def test_artifacts_are_those_of_plans_and_of_prds(task_dir: Path) -> None:
    (task_dir / "tests/feature2").mkdir()
    (task_dir / "prd/feature10.txt").write_text("More.")
    (task_dir / "prd/notes.md").write_text("No PRD.")
    assert artifacts_of(task_dir) == ("mvp", "feature2", "feature10")


def test_a_benchmark_is_counted_over_all_of_its_tasks(task_dir: Path) -> None:
    root = task_dir.parent / "root"
    (root / "prds").mkdir(parents=True)
    for name in ("one", "two"):
        task = root / "prds" / name
        task.symlink_to(task_dir)
    (root / "prds" / ".hidden").symlink_to(task_dir)
    only_prd = root / "prds" / "three"
    (only_prd / "prd").mkdir(parents=True)
    (only_prd / "prd/mvp.txt").write_text("Build.")
    for folder in ("assets", "test_assets"):
        (only_prd / folder).mkdir()
        os.mkfifo(only_prd / folder / "pipe")
    found = load_benchmark(root)
    counts = (found.root, found.apps, found.artifacts, found.plans, found.steps, found.points)
    assert counts == (root, 3, 3, 2, 4, 10)
    assert {problem.message for problem in found.problems} == {
        "has no test plans (*.txt)",
        "is not a regular file",
    }
    assert sum(problem.message == "is not a regular file" for problem in found.problems) == 2


def test_a_root_without_tasks_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskInvalid) as caught:
        load_benchmark(tmp_path)
    message = "holds no task (a folder with prd/ and tests/)"
    assert caught.value.problems == (Problem(str(tmp_path), 1, message),)


def test_an_accepted_problem_is_a_warning_at_its_place(task_dir: Path) -> None:
    path = task_dir / "tests/mvp/test1.txt"
    path.write_text(path.read_text().replace("5</full_points>", "6</full_points>"))
    (task_dir / "exceptions.yaml").write_text("tests/mvp/test1.txt: upstream counts so\n")
    (warning,) = load_benchmark(task_dir).problems
    assert (warning.file, warning.line, warning.severity) == (str(path), 3, "warning")


def test_a_task_that_is_not_there_is_named(task_dir: Path) -> None:
    for path, artifact, message in (
        (task_dir / "absent", "mvp", "no such task folder"),
        (task_dir, "../mvp", "no artifact can be named '../mvp'"),
    ):
        with pytest.raises(TaskInvalid) as caught:
            load_task(path, artifact)
        assert caught.value.problems == (Problem(str(path), 1, message),)


def test_a_tasks_assets_are_found(task_dir: Path) -> None:
    (task_dir / "test_assets").mkdir()
    task = load_task(task_dir)
    assert (task.assets, task.test_assets) == (None, task_dir / "test_assets")


def test_a_task_without_plans_names_the_folder(task_dir: Path) -> None:
    (task_dir / "tests/mvp/test1.txt").unlink()
    with pytest.raises(TaskInvalid) as caught:
        load_task(task_dir)
    folder = str(task_dir / "tests/mvp")
    assert caught.value.problems == (Problem(folder, 1, "has no test plans (*.txt)"),)


def test_no_tasks_are_bundled_beside_a_strange_place(monkeypatch: pytest.MonkeyPatch) -> None:
    from vibench_gym.core.tasks import task  # noqa: PLC0415 (its own file is what is moved)

    monkeypatch.setattr(task, "__file__", "/nonexistent/a/b/c/task.py")
    with pytest.raises(ConfigError, match="/nonexistent/a"):
        task.bundled_tasks_dir()
