# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Bundled tasks with apps in Python: references are perfect, mutants are caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.tasks.mutant import Mutant, load_mutants
from vibench_gym.core.tasks.task import Task, bundled_tasks_dir, load_task

if TYPE_CHECKING:
    from tasks.conftest import CheckMutant, CheckReference

NAMES = ("pantry", "tool_library", "herbarium")
TASKS = {name: load_task(bundled_tasks_dir() / name) for name in NAMES}
MUTANTS = [
    pytest.param(task, mutant, id=f"{name}-{mutant.name}")
    for name, task in TASKS.items()
    for mutant in load_mutants(task)
]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_task_has_enough_to_show(task: Task) -> None:
    assert 2 <= len(task.plans) <= 3
    assert len(load_mutants(task)) >= 5
    assert all(task.script(plan, "qa") for plan in task.plans)
    assert all(task.script(plan, "seed") for plan in task.plans if plan.needs_seeding)


def test_tasks_exercise_what_graders_have_to_handle() -> None:
    plans = [plan for task in TASKS.values() for plan in task.plans]
    scripts = {
        task.script(plan, "qa"): (plan, task) for task in TASKS.values() for plan in task.plans
    }
    text = "\n".join(path.read_text(encoding="utf-8") for path in scripts if path)
    for used in ("upload:", "download:", "dialog:", "new_tab:", "new_context:", "${today", "when:"):
        assert used in text, used
    assert {plan.needs_seeding for plan in plans} == {True, False}
    assert any(step.points == 0 for plan in plans for step in plan.steps)
    assert all("(non-fatal)" in plan.text for plan in plans)


@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
async def test_reference_scores_one(task: Task, check_reference: CheckReference) -> None:
    await check_reference(task)


@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("task", "mutant"), MUTANTS)
async def test_mutant_fails_at_its_step(
    task: Task, mutant: Mutant, check_mutant: CheckMutant
) -> None:
    await check_mutant(task, mutant)
