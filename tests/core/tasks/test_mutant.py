# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import TaskInvalid
from vibench_gym.core.tasks.mutant import apply_mutant, load_mutants
from vibench_gym.core.tasks.task import artifacts_of, list_bundled, load_task

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """describe: The total ignores the quantity
plan: test1
fails_at: second
edits:
  - {file: app.py, find: "price * quantity", replace: "price"}
"""


def write(task_dir: Path, text: str, name: str = "total") -> None:
    (task_dir / f"mutants/mvp/{name}.yaml").write_text(text)


def test_a_mutant_breaks_a_copy_of_the_reference(task_dir: Path, tmp_path: Path) -> None:
    write(task_dir, GOOD + "after: {test1: first}\n")
    task = load_task(task_dir)
    [mutant] = load_mutants(task)
    assert (mutant.name, mutant.fails_at) == ("total", "second")
    apply_mutant(task, mutant, tmp_path / "app")
    assert (tmp_path / "app/app.py").read_text() == "total = price\n"
    assert "quantity" in (task_dir / "reference/mvp/app.py").read_text()


def test_no_mutants_is_fine(task_dir: Path) -> None:
    (task_dir / "mutants/mvp").rmdir()
    assert load_mutants(load_task(task_dir)) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is no YAML"),
        (GOOD.replace("describe", "describes"), "describe: Field required"),
        (GOOD.replace("plan: test1", "plan: test9"), "the task has no plan 'test9'"),
        (GOOD.replace("second", "third"), "plan 'test1' has no step 'third'"),
    ],
)
def test_what_is_wrong_names_the_file(task_dir: Path, text: str, message: str) -> None:
    write(task_dir, text)
    with pytest.raises(TaskInvalid, match=message) as caught:
        load_mutants(load_task(task_dir))
    assert "mutants/mvp/total.yaml:1: " in str(caught.value)


def test_a_good_file_hides_no_bad_one_before_it(task_dir: Path) -> None:
    write(task_dir, GOOD.replace("plan: test1", "plan: test9"), "a")
    write(task_dir, GOOD, "b")
    with pytest.raises(TaskInvalid, match="the task has no plan 'test9'"):
        load_mutants(load_task(task_dir))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("app.py", "none.py", "has no file 'none.py'"),
        ("app.py", "../../etc/passwd", "has no file"),
        ("price * quantity", "nothing", "occurs 0 times"),
        ('"price * quantity"', '"t"', "occurs 4 times"),
    ],
)
def test_an_edit_that_does_not_fit(
    task_dir: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    write(task_dir, GOOD.replace(old, new))
    task = load_task(task_dir)
    with pytest.raises(TaskInvalid, match=message):
        apply_mutant(task, load_mutants(task)[0], tmp_path / "app")


def test_a_mutant_needs_a_reference(task_dir: Path, tmp_path: Path) -> None:
    write(task_dir, GOOD)
    task = load_task(task_dir)
    [mutant] = load_mutants(task)
    (task_dir / "reference").rename(task_dir / "elsewhere")
    with pytest.raises(TaskInvalid, match="no reference app"):
        apply_mutant(task, mutant, tmp_path / "app")


def test_every_bundled_mutant_applies(tmp_path: Path) -> None:
    for folder in list_bundled():
        for artifact in artifacts_of(folder):
            task = load_task(folder, artifact)
            for mutant in load_mutants(task):
                apply_mutant(task, mutant, tmp_path / folder.name / artifact / mutant.name)
