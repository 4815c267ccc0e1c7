# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Records as a grader leaves them, for tests that score them or keep them in a run's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.grading import make_plan
from support.strategies import verdict
from vibench_gym.core.records import PlanRecord, RolloutRecord
from vibench_gym.core.status import ArtifactStatus, PlanStatus

if TYPE_CHECKING:
    from vibench_gym.core.tasks.plan import TestPlan


def rollout_record(**more: object) -> RolloutRecord:
    """The record of a finished rollout over one plan; any field can be given another value."""
    values = {
        "label": "reference",
        "task": "shop",
        "artifact": "mvp",
        "artifact_sha256": "0" * 64,
        "artifact_status": ArtifactStatus.OK,
        "plans": ("mvp.test1",),
        "plan_names": {"mvp.test1": "tests/mvp/test1.txt"},
        "started_at": "2026-05-01T00:00:00Z",
        "finished_at": "2026-05-01T00:01:00Z",
        **more,
    }
    return RolloutRecord.model_validate(values)


def three_plans() -> list[TestPlan]:
    """Plans `p0`, `p1` and `p2`, each of a step worth 1 point and a step worth 3."""
    return [make_plan(f"p{n}", [("a", "A.", 1), ("b", "B.", 3)]) for n in range(3)]


def all_passed(plan: TestPlan, status: PlanStatus = PlanStatus.GRADED) -> PlanRecord:
    """The record of one of `three_plans` with both of its steps passed."""
    verdicts = (verdict("a", "passed", 0), verdict("b", "passed", 1))
    return PlanRecord(plan=plan.id, plan_sha256=plan.sha256, status=status, verdicts=verdicts)
