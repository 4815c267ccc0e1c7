# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Grades bundled tasks with their own replay scripts: everything real but the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from vibench_gym.core.config import GraderConfig, StackConfig
from vibench_gym.core.tasks.mutant import Mutant, apply_mutant
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.status import ArtifactStatus, PlanStatus, StepOutcome
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.grading.model_sources import ReplayModels
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord, Scorecard
    from vibench_gym.core.tasks.task import Task


GRADED_TESTS = ("test_reference_scores_one", "test_mutant_fails_at_its_step")
QUICK = ("pantry", "mvp")


@dataclass(frozen=True)
class Graded:
    """What one grading left: the rollout's record and every plan's scorecard, by file stem."""

    record: RolloutRecord
    cards: dict[str, Scorecard]


class GradeReplayed(Protocol):
    """Grades an app on a task, or on those of its plans that are named by file stem."""

    async def __call__(self, task: Task, app: Path, *plans: str) -> Graded: ...


class CheckReference(Protocol):
    """The task's reference app scores 1.0 on every plan."""

    async def __call__(self, task: Task) -> None: ...


class CheckMutant(Protocol):
    """The mutant fails at the step that it names, and at none before it."""

    async def __call__(self, task: Task, mutant: Mutant) -> None: ...


@pytest.fixture
def grade_replayed(tmp_path: Path) -> GradeReplayed:
    async def grade(task: Task, app: Path, *plans: str) -> Graded:
        if plans:
            task = replace(task, plans=tuple(plan for plan in task.plans if plan.stem in plans))
        directory = RunDir(tmp_path / "run").rollout(task, "app")
        async with ReplayModels(task) as models:
            grader = Grader(
                stacks=LocalStackBuilder(StackConfig()),
                models=models,
                browsers=PlaywrightLauncher(),
                config=GraderConfig(),
            )
            record = await grader.grade(task, app, rollout=directory, label="app")
        stems = {plan.id: plan.stem for plan in task.plans}
        read = {stems[plan.plan_id]: plan.read_scorecard() for plan in directory.plans()}
        return Graded(record, {stem: card for stem, card in read.items() if card is not None})

    return grade


@pytest.fixture
def check_reference(grade_replayed: GradeReplayed) -> CheckReference:
    async def check(task: Task) -> None:
        assert task.reference is not None
        graded = await grade_replayed(task, task.reference)
        assert graded.record.artifact_status is ArtifactStatus.OK, graded.record.artifact_message
        for stem, card in graded.cards.items():
            failed = {step.name: step.reason for step in card.steps if step.score != step.points}
            assert card.status is PlanStatus.GRADED, stem
            assert not failed, stem
        assert len(graded.cards) == len(task.plans)
        assert not graded.record.mask_sample, graded.record.failure_reason
        assert graded.record.reward == 1.0

    return check


@pytest.fixture
def check_mutant(grade_replayed: GradeReplayed, tmp_path: Path) -> CheckMutant:
    async def check(task: Task, mutant: Mutant) -> None:
        app = tmp_path / "mutant"
        apply_mutant(task, mutant, app)
        graded = await grade_replayed(task, app, mutant.plan)
        assert not graded.record.mask_sample, graded.record.failure_reason
        card = graded.cards[mutant.plan]
        assert card.status is PlanStatus.GRADED
        not_passed = [step for step in card.steps if step.outcome is not StepOutcome.PASSED]
        assert not_passed, "no step noticed the mutant"
        assert not_passed[0].name == mutant.fails_at, not_passed[0].reason
        assert not_passed[0].outcome is StepOutcome.FAILED
        assert graded.record.reward is not None
        assert graded.record.reward < 1.0

    return check


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` grades one task and one mutant of it, CI each task and one mutant of each."""
    tried: set[tuple[str, str, str]] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.originalname not in GRADED_TESTS:
            continue
        params: Mapping[str, Any] = item.callspec.params
        task: Task = params["task"]
        kind = (task.name, task.artifact, item.originalname)
        if kind in tried:
            item.add_marker(pytest.mark.repeat)
        elif kind[:2] != QUICK:
            item.add_marker(pytest.mark.long)
        tried.add(kind)
