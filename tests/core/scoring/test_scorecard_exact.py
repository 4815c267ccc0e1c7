# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of a list of verdicts in its own words, and rollouts in which plans did not start."""

from __future__ import annotations

import pytest

from support.grading import make_plan
from support.records import all_passed, three_plans
from support.strategies import verdict
from vibench_gym.core.scoring.scorecard import check_verdicts, reward, score_rollout
from vibench_gym.core.status import ArtifactStatus, PlanStatus, StepOutcome
from vibench_gym.core.verdict import Evidence


def test_every_fault_of_an_order_is_told() -> None:
    plan = make_plan(steps=[("a", "A.", 1), ("b", "B.", 1), ("c", "C.", 1)])
    said = [verdict("x", "passed", 0), verdict("b", "passed", 0), verdict("b", "passed", 0),
            verdict("y", "passed", 0), verdict("a", "passed", 0)]  # fmt: skip
    assert check_verdicts(plan, said) == [
        "step 'x' is not in the plan",
        "step 'b' has two verdicts",
        "step 'y' is not in the plan",
        "step 'a' is out of order",
        "step 'c' has no verdict",
    ]


def test_faults_of_single_verdicts_are_told() -> None:
    plan = make_plan(steps=[("a", "A.", 1), ("b", "B.", 1), ("c", "C.", 1)])
    odd = [
        verdict("a", "passed", 0).model_copy(update={"checks": ()}),
        verdict("b", "fatal", 1).model_copy(update={"fatal": False}),
        verdict("c", "passed", 2).model_copy(update={"outcome": StepOutcome.NOT_REACHED}),
    ]
    seen = [Evidence(id=f"obs-{n}", seq=n, step="a", tool="snapshot") for n in range(2)]
    assert check_verdicts(plan, odd, seen) == [
        "step 'c' is not_reached, but nothing fatal stands before it",
        "step 'a': passed without a check",
        "step 'b': its failure is fatal, but the verdict says it is not",
        "step 'c': not_reached, but it has checks",
    ]
    both = verdict("b", "passed", 1).model_copy(update={"fatal": True})
    assert check_verdicts(plan, [verdict("a", "passed", 0), both], seen)[-2:] == [
        "step 'b': passed and fatal at once",
        "step 'b': evidence 'obs-1' was not captured during this step",
    ]


def test_every_fault_of_a_pass_is_told() -> None:
    plan = make_plan(steps=[("a", "A.", 1)])
    bad = verdict("a", "fatal", 0).model_copy(
        update={"outcome": StepOutcome.PASSED, "evidence": ()}
    )
    assert check_verdicts(plan, [bad]) == [
        "step 'a': passed, but 'The count' did not pass",
        "step 'a': passed and fatal at once",
        "step 'a': passed without evidence",
    ]


def test_what_did_not_start_earns_nothing_and_is_no_failed_build() -> None:
    plans = three_plans()
    records = {
        plans[1].id: all_passed(plans[1], PlanStatus.START_FAILED),
        plans[2].id: all_passed(plans[2]),
    }
    score = score_rollout(plans[1:], records)
    assert (score.reward, score.build_failed, score.mask_sample) == (0.5, False, False)
    whole = score_rollout(plans, records)
    assert whole.reward == pytest.approx(1 / 3)
    assert whole.mask_sample
    assert (whole.failure_kind, whole.failure_reason) == (
        "not_measured",
        "p0: was not measured",
    )
    with pytest.raises(ValueError, match=r"^a reward needs at least one plan$"):
        reward([])


def test_a_failed_build_without_a_message_has_no_reason() -> None:
    score = score_rollout(three_plans(), {}, ArtifactStatus.MISSING)
    assert (score.failure_kind, score.failure_reason) == ("missing", None)
