# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The bundled tasks whose apps are written in Node: references are perfect, mutants are caught."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.tasks.mutant import Mutant, load_mutants
from vibench_gym.core.tasks.task import Task, bundled_tasks_dir, load_task

if TYPE_CHECKING:
    from tasks.conftest import CheckMutant, CheckReference, GradeReplayed

ARTIFACTS = (("doodles", "mvp"), ("standup", "mvp"), ("standup", "feature1"))
TASKS = {
    f"{name}-{artifact}": load_task(bundled_tasks_dir() / name, artifact)
    for name, artifact in ARTIFACTS
}
MUTANTS = [
    pytest.param(task, mutant, id=f"{key}-{mutant.name}")
    for key, task in TASKS.items()
    for mutant in load_mutants(task)
]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_task_has_enough_to_show(task: Task) -> None:
    assert 2 <= len(task.plans) <= 3
    assert len(load_mutants(task)) >= 5
    assert all(task.script(plan, "qa") for plan in task.plans)
    assert all(task.script(plan, "seed") for plan in task.plans if plan.needs_seeding)


def test_every_plan_is_named_by_a_mutant() -> None:
    named = {
        (task.name, task.source_artifact, mutant.plan)
        for task in TASKS.values()
        for mutant in load_mutants(task)
    }
    plans = {(task.name, task.source_artifact, p.stem) for task in TASKS.values() for p in task.plans}
    assert plans == named


def test_tasks_exercise_what_graders_have_to_handle() -> None:
    paths = [task.script(plan, "qa") for task in TASKS.values() for plan in task.plans]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths if path)
    for used in ("mouse:", "drag:", "dialog:", "wait_for:", "new_context:", "new_tab:", "when:"):
        assert used in text, used
    plans = [plan for task in TASKS.values() for plan in task.plans]
    assert {plan.needs_seeding for plan in plans} == {True, False}
    assert any(step.points == 0 for plan in plans for step in plan.steps)
    assert TASKS["standup-feature1"].base == TASKS["standup-mvp"].reference


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_lock_file_pins_packages_and_names_no_registry(task: Task) -> None:
    assert task.reference is not None
    lock = (task.reference / "package-lock.json").read_text(encoding="utf-8")
    packages = {name: entry for name, entry in json.loads(lock)["packages"].items() if name}
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not any("resolved" in entry for entry in packages.values())
    assert "://" not in lock


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


@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.browser
@pytest.mark.long
@pytest.mark.timeout(300)
async def test_mvp_alone_passes_the_feature_s_regression_only(
    grade_replayed: GradeReplayed,
) -> None:
    task = TASKS["standup-feature1"]
    assert task.base is not None
    graded = await grade_replayed(task, task.base, "regression", "test1")
    assert not graded.record.mask_sample, graded.record.failure_reason
    assert {stem: card.normalized for stem, card in graded.cards.items()} == {
        "regression": 1.0,
        "test1": 0.0,
    }
