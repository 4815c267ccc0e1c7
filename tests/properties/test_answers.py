# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Invariants of whole gradings and their answers: however often, in any order, cut off or not."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.grading import (
    FakeBrowsers,
    FakeModels,
    agent,
    failing,
    make_app,
    make_plan,
    make_task,
    passing,
)
from vibench_gym.core.config import GraderConfig
from vibench_gym.core.rundir import RunDir
from vibench_gym.grading.grader import Grader
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.testing.fakes.model import FakeModel

STEPS = ("a", "b", "c")
slow = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
outcomes = st.lists(st.sampled_from([None, *STEPS]), min_size=1, max_size=3)


def lab(fails: dict[str, str | None], concurrency: int) -> Grader:
    def qa(plan: TestPlan) -> FakeModel:
        at = fails[plan.id]
        return agent(failing(plan, at) if at else passing(plan))

    return Grader(
        stacks=FakeStackBuilder(),
        models=FakeModels(qa=qa),
        browsers=FakeBrowsers(),
        config=GraderConfig(second_look_wait_s=0.0, concurrency=concurrency),
    )


def plans_of(count: int) -> list[TestPlan]:
    return [
        make_plan(f"mvp-t{n}", [(name, "Look.", n + 1) for name in STEPS]) for n in range(count)
    ]


@slow
@given(outcomes, st.integers(1, 4), st.integers(0, 1000))
def test_order_and_concurrency_change_no_scorecard(
    failures: list[str | None], concurrency: int, seed: int
) -> None:
    plans = plans_of(len(failures))
    fails = {plan.id: at for plan, at in zip(plans, failures, strict=True)}
    shuffled = random.Random(seed).sample(plans, len(plans))  # noqa: S311 (no secret)
    results = []
    for order, at_once in ((plans, 1), (shuffled, concurrency)):
        with tempfile.TemporaryDirectory() as name:
            task = make_task(*order)
            rollout = RunDir(Path(name)).rollout(task, "x")
            app = make_app(Path(name) / "app")
            record = asyncio.run(lab(fails, at_once).grade(task, app, rollout=rollout, label="x"))
            cards = {plan.id: rollout.plan(plan.id).scorecard_bytes() for plan in plans}
            results.append((record.reward, record.mask_sample, cards))
    assert results[0] == results[1]


@slow
@given(outcomes, st.integers(0, 60))
def test_a_grading_that_is_cut_off_and_resumed_is_the_same(
    failures: list[str | None], turns: int
) -> None:
    plans = plans_of(len(failures))
    fails = {plan.id: at for plan, at in zip(plans, failures, strict=True)}
    task = make_task(*plans)

    async def cut(name: Path) -> dict[str, bytes | None]:
        rollout = RunDir(name).rollout(task, "x")
        app = make_app(name / "app")
        first = asyncio.ensure_future(lab(fails, 1).grade(task, app, rollout=rollout, label="x"))
        for _ in range(turns * 5):
            await asyncio.sleep(0)
        first.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await first
        await lab(fails, 2).grade(task, app, rollout=rollout, label="x", resume=True)
        return {plan.id: rollout.plan(plan.id).scorecard_bytes() for plan in plans}

    async def whole(name: Path) -> dict[str, bytes | None]:
        rollout = RunDir(name).rollout(task, "x")
        await lab(fails, 1).grade(task, make_app(name / "app"), rollout=rollout, label="x")
        return {plan.id: rollout.plan(plan.id).scorecard_bytes() for plan in plans}

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        assert asyncio.run(cut(Path(one))) == asyncio.run(whole(Path(other)))


@pytest.mark.gym
@slow
@given(st.lists(st.sampled_from(["ask", "ask and leave", "restart"]), min_size=1, max_size=6))
def test_verify_gives_one_answer_however_often_it_is_asked(calls: list[str]) -> None:
    from vibench_gym.gym.server.answers import unmeasured_answer  # noqa: PLC0415 (needs nemo-gym)
    from vibench_gym.gym.server.verify_cache import GradingResult, VerifyCache  # noqa: PLC0415

    graded = 0

    async def grade() -> GradingResult:
        nonlocal graded
        await asyncio.sleep(0)
        graded += 1
        return GradingResult(unmeasured_answer(["t"], "verifier_error", f"grading {graded}"))

    async def run(folder: Path) -> set[str]:
        seen = set()
        answers = VerifyCache(folder)
        for call in calls:
            if call == "restart":
                await answers.aclose()
                answers = VerifyCache(folder)
            asked = [asyncio.ensure_future(answers.answer("ab" * 32, grade)) for _ in range(3)]
            await asyncio.sleep(0)
            if call == "ask and leave":
                for one in asked:
                    one.cancel()
            for one in asked:
                with contextlib.suppress(asyncio.CancelledError):
                    seen.add((await one).model_dump_json())
        seen.add((await answers.answer("ab" * 32, grade)).model_dump_json())
        await answers.aclose()
        return seen

    with tempfile.TemporaryDirectory() as name:
        assert len(asyncio.run(run(Path(name) / "answers"))) == 1
    assert graded == 1 or "ask and leave" in calls
