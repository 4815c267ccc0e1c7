# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The words about a mutant that cannot be applied, and edits that stay inside of the copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import Problem, TaskInvalid
from vibench_gym.core.tasks.mutant import apply_mutant, load_mutants
from vibench_gym.core.tasks.task import load_task

if TYPE_CHECKING:
    from pathlib import Path


def test_a_task_without_a_reference_is_named(task_dir: Path, tmp_path: Path) -> None:
    (task_dir / "mutants/mvp/m.yaml").write_text(
        "describe: d\nplan: test1\nfails_at: second\n"
        "edits: [{file: app.py, find: absent, replace: x}]\n"
    )
    task = load_task(task_dir)
    (mutant,) = load_mutants(task)
    with pytest.raises(TaskInvalid) as caught:
        apply_mutant(task, mutant, tmp_path / "app")
    where = str(task_dir / "mutants/mvp/m.yaml")
    message = "'absent' occurs 0 times in 'app.py', not once"
    assert caught.value.problems == (Problem(where, 1, message),)
    (task_dir / "reference/mvp/app.py").unlink()
    (task_dir / "reference/mvp").rmdir()
    with pytest.raises(TaskInvalid) as caught:
        apply_mutant(load_task(task_dir), mutant, tmp_path / "other")
    message = "no reference app for 'mvp'"
    assert caught.value.problems == (Problem(str(task_dir), 1, message),)


def test_every_bad_file_is_named(task_dir: Path) -> None:
    for name, text in (("a", "["), ("b", "["), ("c", "edits: [{}]"), ("d", "plan: 1")):
        (task_dir / f"mutants/mvp/{name}.yaml").write_text(text)
    with pytest.raises(TaskInvalid) as caught:
        load_mutants(load_task(task_dir))
    named = [problem.file.rpartition("/")[2] for problem in caught.value.problems]
    assert sorted(set(named)) == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
    assert all(problem.line == 1 for problem in caught.value.problems)
    assert any(
        problem.message.startswith("edits.0.file: ") for problem in caught.value.problems
    )
    assert "http" not in str(caught.value)


def test_links_of_the_reference_stay_links_and_edits_stay_inside(
    task_dir: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept kept-once")
    (task_dir / "reference/mvp/link").symlink_to(outside)
    (task_dir / "mutants/mvp/m.yaml").write_text(
        "describe: d\nplan: test1\nfails_at: second\n"
        "edits: [{file: link, find: kept-once, replace: changed}]\n"
    )
    task = load_task(task_dir)
    (mutant,) = load_mutants(task)
    with pytest.raises(TaskInvalid) as caught:
        apply_mutant(task, mutant, tmp_path / "app")
    (problem,) = caught.value.problems
    assert problem.file == str(task_dir / "mutants/mvp/m.yaml")
    assert (problem.line, problem.message) == (1, "the reference has no file 'link'")
    assert (tmp_path / "app/link").is_symlink()
    assert outside.read_text() == "kept kept-once"
