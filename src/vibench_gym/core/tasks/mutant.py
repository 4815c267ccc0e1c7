# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Mutants: the reference app with one behaviour broken, and the step that has to notice it.

describe: The total ignores the quantity
plan: test1                 # file stem of a plan of this artifact
fails_at: test_cart_total   # the first step that fails
edits:
  - {file: app.py, find: "price * quantity", replace: "price"}
after: {test2: test_checkout}   # other plans that notice it, and where (optional)
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vibench_gym.core.errors import Problem, TaskInvalid
from vibench_gym.core.tasks.files import TaskFolder
from vibench_gym.core.tasks.yaml_file import read_yaml_mapping

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.tasks.task import Task


class Edit(BaseModel):
    """Text that occurs exactly once in a file of the reference app, and what replaces it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(min_length=1)
    find: str = Field(min_length=1)
    replace: str


class Mutant(BaseModel):
    """One broken behaviour."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Stem of its file."""
    describe: str
    plan: str
    fails_at: str
    edits: tuple[Edit, ...] = Field(min_length=1)
    after: dict[str, str] = {}


def load_mutants(task: Task) -> tuple[Mutant, ...]:
    """The task's mutants by name, each checked against its plans.

    Raises:
        TaskInvalid: a file breaks the format or names a plan or step that is not there.
    """
    folder = task.mutants
    paths = sorted(folder.glob("*.yaml")) if folder else []
    mutants: list[Mutant] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            mutant = Mutant.model_validate({"name": path.stem, **read_yaml_mapping(path)})
        except TaskInvalid as error:
            problems += error.problems
            continue
        except ValidationError as error:
            problems += [
                Problem(str(path), 1, f"{'.'.join(map(str, item['loc']))}: {item['msg']}")
                for item in error.errors(include_url=False, include_input=False)
            ]
            continue
        problems += [Problem(str(path), 1, what) for what in _unknown(task, mutant)]
        mutants.append(mutant)
    if problems:
        raise TaskInvalid(problems)
    return tuple(mutants)


def apply_mutant(task: Task, mutant: Mutant, destination: Path) -> None:
    """Copy the reference app to `destination`, which must not exist, and break it.

    Raises:
        TaskInvalid: there is no reference, or an edit's text does not occur exactly once.
    """
    if task.reference is None:
        raise TaskInvalid([Problem(str(task.root), 1, f"no reference app for {task.artifact!r}")])
    where = str((task.mutants or task.root) / f"{mutant.name}.yaml")
    shutil.copytree(task.reference, destination, symlinks=True)
    files = TaskFolder(destination)
    for edit in mutant.edits:
        path = destination / edit.file
        if not files.stays_inside(path) or not path.is_file():
            raise TaskInvalid([Problem(where, 1, f"the reference has no file {edit.file!r}")])
        text = path.read_bytes().decode()
        if (count := text.count(edit.find)) != 1:
            message = f"{edit.find[:60]!r} occurs {count} times in {edit.file!r}, not once"
            raise TaskInvalid([Problem(where, 1, message)])
        path.write_bytes(text.replace(edit.find, edit.replace).encode())


def _unknown(task: Task, mutant: Mutant) -> list[str]:
    found = []
    for stem, step in {**mutant.after, mutant.plan: mutant.fails_at}.items():
        plan = next((plan for plan in task.plans if plan.stem == stem), None)
        if plan is None:
            found.append(f"the task has no plan {stem!r}")
        elif all(step != candidate.name for candidate in plan.steps):
            found.append(f"plan {stem!r} has no step {step!r}")
    return found
