# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Same artifact, same verdicts, same scorecards, in any order, at any concurrency (rule 12)."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

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
from vibench_gym.testing.fakes.model import FakeModel
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.llm.base import Completion, Message

STEPS = ("a", "b", "c")


class Jittery(FakeModel):
    """Answers after a moment that differs from call to call."""

    def __init__(self, inner: FakeModel, rng: random.Random) -> None:
        super().__init__([])
        self._inner = inner
        self._rng = rng

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        for _ in range(self._rng.randrange(4)):
            await asyncio.sleep(0)
        return await self._inner.complete(messages, tools)


def plans_of(count: int) -> list[TestPlan]:
    return [
        make_plan(f"mvp-test{n}", [(name, "Look.", n + 1) for name in STEPS]) for n in range(count)
    ]


async def grade(
    folder: Path, plans: list[TestPlan], failures: list[str | None], concurrency: int, seed: int
) -> tuple[float, dict[str, bytes]]:
    fails = dict(
        zip((plan.id for plan in sorted(plans, key=lambda p: p.id)), failures, strict=True)
    )
    rng = random.Random(seed)  # noqa: S311 (no secret)

    def qa(plan: TestPlan) -> FakeModel:
        at = fails[plan.id]
        return Jittery(agent(failing(plan, at) if at else passing(plan)), rng)

    grader = Grader(
        stacks=FakeStackBuilder(),
        models=FakeModels(qa=qa),
        browsers=FakeBrowsers(),
        config=GraderConfig(second_look_wait_s=0.0, concurrency=concurrency),
    )
    task = make_task(*plans)
    directory = RunDir(folder).rollout(task, "x")
    record = await grader.grade(task, make_app(folder / "app"), rollout=directory, label="x")
    assert record.reward is not None
    cards = {plan.id: directory.plan(plan.id).scorecard_bytes() or b"" for plan in plans}
    return record.reward, cards


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    failures=st.lists(st.sampled_from([None, *STEPS]), min_size=1, max_size=4),
    concurrency=st.integers(min_value=2, max_value=4),
    seed=st.integers(min_value=0, max_value=10_000),
)
def test_order_and_concurrency_change_no_scorecard(
    failures: list[str | None], concurrency: int, seed: int
) -> None:
    plans = plans_of(len(failures))
    shuffled = random.Random(seed).sample(plans, len(plans))  # noqa: S311 (no secret)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first = asyncio.run(grade(Path(one), plans, failures, 1, seed))
        second = asyncio.run(grade(Path(other), shuffled, failures, concurrency, seed + 1))
    assert first == second
    assert 0.0 <= first[0] <= 1.0
