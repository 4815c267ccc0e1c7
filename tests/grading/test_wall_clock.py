# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A clock that is set, or a day that ends, while a plan is tested."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from support.grading import agent, failing, make_plan, passing
from vibench_gym.core.errors import ClockJumped
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.wall_clock import WallClock
from vibench_gym.testing.fakes.model import FakeModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.grading_lab import Lab
    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.llm.base import Completion, Message

PLAN = make_plan()
NOON = datetime(2030, 3, 4, 12, tzinfo=UTC).timestamp()
EVENING = datetime(2030, 3, 4, 23, 59, 59, tzinfo=UTC).timestamp()


class Time:
    """A clock that a test sets: `now` is set by somebody, `ticks` goes on by itself."""

    def __init__(self, now: float) -> None:
        self.now_s = now
        self.ticks_s = 100.0

    def now(self) -> float:
        return self.now_s

    def ticks(self) -> float:
        return self.ticks_s

    def passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.ticks_s += seconds


class Setting(FakeModel):
    """Sets the clock when it is first asked."""

    def __init__(self, model: FakeModel, time: Time, by_s: float) -> None:
        super().__init__(model._answers)
        self._time = time
        self._by_s = by_s

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        self._time.now_s += self._by_s
        self._by_s = 0.0
        return await super().complete(messages, tools)


def test_time_that_passes_is_no_jump() -> None:
    time = Time(NOON)
    clock = WallClock(time.now, time.ticks)
    time.passes(3600)
    clock.check()
    assert (clock.today, clock.day_ended) == ("2030-03-04", False)
    time.passes(12 * 3600)
    assert clock.day_ended


@pytest.mark.parametrize("by_s", [6.0, -6.0, 1e9, -1e9])
def test_a_clock_that_is_set_is_noticed(by_s: float) -> None:
    time = Time(NOON)
    clock = WallClock(time.now, time.ticks)
    clock.check()
    time.now_s += by_s
    with pytest.raises(ClockJumped, match="jumped by"):
        clock.check()


@pytest.mark.parametrize("by_s", [86_400.0, -7200.0])
async def test_a_plan_during_which_the_clock_was_set_is_tried_again(lab: Lab, by_s: float) -> None:
    time = Time(NOON)
    lab.now = time.now
    lab.agents(Setting(agent(passing(PLAN)), time, by_s), agent(passing(PLAN)))
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.attempts) == (PlanStatus.GRADED, 2)


async def test_a_clock_that_is_set_again_and_again_masks(lab: Lab) -> None:
    time = Time(NOON)
    lab.now = time.now
    lab.agents(*(Setting(agent(passing(PLAN)), time, 60.0) for _ in range(2)))
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.failure_kind) == (PlanStatus.GRADER_FAILED, "clock_jumped")


async def test_every_attempt_is_told_its_own_day(lab: Lab) -> None:
    time = Time(EVENING)
    lab.now = time.now
    first, second = Setting(agent(failing(PLAN, "first")), time, 2.0), agent(passing(PLAN))
    lab.agents(first, second)
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.attempts) == (PlanStatus.GRADED, 2)
    days = [model.requests[0][0][1].text.splitlines()[0] for model in (first, second)]
    assert days == ["Today: 2030-03-04", "Today: 2030-03-05"]


async def test_midnight_takes_nothing_from_a_plan_that_passed_and_masks_no_failure(
    lab: Lab,
) -> None:
    time = Time(EVENING)
    lab.now = time.now
    lab.agents(Setting(agent(passing(PLAN)), time, 2.0))
    assert (await lab.grade_plan(PLAN)).attempts == 1
    time.now_s = EVENING
    again = [Setting(agent(failing(PLAN, "first")), time, by) for by in (2.0, 0.0)]
    lab.agents(*again)
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.attempts) == (PlanStatus.GRADED, 2)
