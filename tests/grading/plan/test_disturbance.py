# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A failure beside which something was killed is tried once more; what comes then is the score."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.grading import agent, failing, make_plan, passing
from support.grading_lab import Lab
from vibench_gym.core.errors import AppStartFailed
from vibench_gym.core.status import PlanStatus
from vibench_gym.testing.fakes.stack import RUNNING, FakeStack, FakeStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

PLAN = make_plan()
KILLED = replace(RUNNING, external_kill="PostgreSQL ended with 137")
GONE = replace(RUNNING, running=False, exit_code=137, listening_ports=(), external_kill="killed")


def lab_of(root: Path, *stacks: FakeStack) -> Lab:
    return Lab(root, stacks=FakeStackBuilder(stacks=list(stacks)))


@pytest.mark.parametrize("status", [KILLED, GONE])
async def test_killed_once_it_is_scored_as_if_it_never_was(tmp_path: Path, status: object) -> None:
    lab = lab_of(tmp_path, FakeStack(status=status), FakeStack())  # type: ignore[arg-type]
    lab.agents(agent(failing(PLAN, "second")), agent(passing(PLAN)))
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.attempts) == (PlanStatus.GRADED, 2)
    assert all(verdict.outcome == "passed" for verdict in record.verdicts)


async def test_who_kills_it_every_time_is_scored_and_not_masked(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, FakeStack(status=KILLED), FakeStack(status=KILLED))
    lab.agents(agent(failing(PLAN, "second")), agent(failing(PLAN, "second")))
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.attempts, record.app_fault) == (PlanStatus.GRADED, 2, True)
    assert [verdict.outcome for verdict in record.verdicts] == ["passed", "failed"]


async def test_a_plan_that_was_passed_needs_no_second_attempt(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, FakeStack(status=KILLED))
    assert (await lab.grade_plan(PLAN)).attempts == 1


async def test_a_start_that_was_killed_is_tried_again(tmp_path: Path) -> None:
    fault = AppStartFailed("ended with exit code 137")
    fault.retry_reason = "the app's box was killed"
    lab = lab_of(tmp_path, FakeStack(enter_error=fault), FakeStack())
    record = await lab.grade_plan(PLAN)
    assert (record.status, record.attempts) == (PlanStatus.GRADED, 2)
    plain = lab_of(tmp_path / "plain", FakeStack(enter_error=AppStartFailed("exit code 1")))
    failed = await plain.grade_plan(PLAN)
    assert (failed.status, failed.attempts) == (PlanStatus.START_FAILED, 1)
