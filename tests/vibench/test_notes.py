# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's own `notes`: its three mvp plans against its reference implementation.

Everything is real but the model: its script judges by what Chromium shows of the app.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.config import GraderConfig, StackConfig
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.status import PlanStatus, StepOutcome
from vibench_gym.core.tasks.references import reference_trees
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.grading.model_sources import ReplayModels
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord, Scorecard
    from vibench_gym.core.tasks.task import Task

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.postgres,
    pytest.mark.browser,
    pytest.mark.timeout(600),
]


@dataclass(frozen=True)
class Broken:
    """One behaviour of the reference broken, and the step (from 1) that has to notice first."""

    plan: str
    fails_at: int
    edits: tuple[tuple[str, str, str], ...]
    """File, pattern, replacement: nothing of the reference implementation is kept here."""
    points: int
    fatal: bool = True


BROKEN = {
    "any_password_opens": Broken("test1", 2, (("app.py", r"password != \w+", "False"),), 6),
    # The plan says to go on after this one, so that only the step's own points are lost.
    "stays_unlocked": Broken(
        "test1",
        5,
        (
            ("app.py", r"session\.clear\(\)", "pass"),
            ("static/app.js", "isUnlocked = true;", "isUnlocked = true; sessionStorage.open = 1;"),
            (
                "static/app.js",
                r"show\w+\(\);(?=\s+setup)",
                "if (sessionStorage.open) handleHashChange(isUnlocked = true); else \\g<0>",
            ),
        ),
        42,
        fatal=False,
    ),
    "saves_nothing": Broken("test2", 2, (("app.py", "'PUT'", "'PATCH'"),), 10),
    "search_minds_case": Broken("test3", 2, (("app.py", r"LOWER\(", "("),), 6),
    "deletes_nothing": Broken(
        "test3", 6, (("app.py", r"DELETE (.*) WHERE", r"\g<0> 1 > 2 AND"),), 36
    ),
}


async def grade(task: Task, app: Path, run: Path) -> tuple[RolloutRecord, dict[str, Scorecard]]:
    directory = RunDir(run).rollout(task, "app")
    async with ReplayModels(task) as models:
        grader = Grader(
            stacks=LocalStackBuilder(StackConfig()),
            models=models,
            browsers=PlaywrightLauncher(),
            config=GraderConfig(),
        )
        record = await grader.grade(task, app, rollout=directory, label="app")
    stems = {plan.id: plan.stem for plan in task.plans}
    cards = {stems[plan.plan_id]: plan.read_scorecard() for plan in directory.plans()}
    return record, {stem: card for stem, card in cards.items() if card is not None}


async def test_the_reference_passes_all_three_plans(
    checkout: Path, notes: Task, tmp_path: Path
) -> None:
    record, cards = await grade(notes, reference_trees(checkout)["notes"], tmp_path / "run")
    for stem, card in cards.items():
        assert card.status is PlanStatus.GRADED, (stem, card)
        assert [(s.name, s.reason) for s in card.steps if s.score != s.points] == [], stem
    points = {stem: (card.score, card.full_points) for stem, card in cards.items()}
    assert points == {"test1": (50, 50), "test2": (56, 56), "test3": (60, 60)}
    assert (record.reward, record.mask_sample) == (1.0, False)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_copy_fails_where_it_shows(
    checkout: Path, notes: Task, tmp_path: Path, broken: Broken
) -> None:
    app = tmp_path / "app"
    shutil.copytree(reference_trees(checkout)["notes"], app)
    for name, find, new in broken.edits:
        text, count = re.subn(find, new, (app / name).read_text("utf-8"))
        assert count > 0, "the reference has changed"
        (app / name).write_text(text, "utf-8")
    task = replace(notes, plans=tuple(p for p in notes.plans if p.stem == broken.plan))
    record, cards = await grade(task, app, tmp_path / "run")
    assert not record.mask_sample, record.failure_reason
    card = cards[broken.plan]
    assert card.status is PlanStatus.GRADED
    told = [(step.outcome, step.reason) for step in card.steps]
    first = broken.fails_at - 1
    rest = StepOutcome.NOT_REACHED if broken.fatal else StepOutcome.PASSED
    expected = [StepOutcome.PASSED] * first
    expected += [StepOutcome.FAILED] + [rest] * (len(card.steps) - broken.fails_at)
    assert [step.outcome for step in card.steps] == expected, told
    assert (card.steps[first].fatal, card.score) == (broken.fatal, broken.points)
