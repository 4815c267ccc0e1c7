# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The law of the score: one test per rule of docs/scoring.md, and properties over all inputs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vibench_gym.core.records import PlanRecord, canonical_json
from vibench_gym.core.scoring.scorecard import (
    NO_EVIDENCE,
    check_verdicts,
    reward,
    score_plan,
    score_rollout,
)
from vibench_gym.core.status import ArtifactStatus, CheckOutcome, PlanStatus, StepOutcome
from vibench_gym.core.tasks.plan import Step, TestPlan
from vibench_gym.core.verdict import Check, Evidence, StepVerdict

if TYPE_CHECKING:
    import random

PASSED, FAILED, BLOCKED, NOT_REACHED = StepOutcome
LINE = "- (non-fatal) The count is shown"


def plan_of(*points: int, plan_id: str = "mvp.t") -> TestPlan:
    steps = tuple(
        Step(f"s{number}", f"Verify:\n- The list is shown\n{LINE}", value)
        for number, value in enumerate(points)
    )
    return TestPlan(plan_id, "t.txt", "", "p", "N/A", steps, sum(points))


def check(outcome: CheckOutcome = CheckOutcome.PASSED, *, quote: str = "") -> Check:
    return Check(text="The count", outcome=outcome, fatal=not quote, quote=quote)


def passed(number: int) -> StepVerdict:
    return StepVerdict(
        step=f"s{number}", outcome=PASSED, checks=(check(),), evidence=(f"obs-{number}",)
    )


def failed(number: int, *, fatal: bool = True, outcome: StepOutcome = FAILED) -> StepVerdict:
    return StepVerdict(
        step=f"s{number}",
        outcome=outcome,
        fatal=fatal,
        failed_check="The count",
        reason="none shown",
        checks=(check(CheckOutcome.FAILED, quote="" if fatal else LINE),),
        evidence=(f"obs-{number}",),
    )


def not_reached(number: int) -> StepVerdict:
    return StepVerdict(step=f"s{number}", outcome=NOT_REACHED)


def record(plan: TestPlan, *verdicts: StepVerdict, **more: object) -> PlanRecord:
    values = {"status": PlanStatus.GRADED, **more}
    return PlanRecord.model_validate(
        {"plan": plan.id, "plan_sha256": plan.sha256, "verdicts": verdicts, **values}
    )


def test_rule_1_points_come_from_the_plan_only() -> None:
    card = score_plan(plan_of(3, 0, 4), [passed(0), passed(1), passed(2)])
    assert (card.score, card.full_points, card.normalized) == (7, 7, 1.0)


def test_rule_2_a_non_fatal_failure_needs_the_plans_words() -> None:
    plan = plan_of(1)
    assert check_verdicts(plan, [failed(0, fatal=False)]) == []
    claim = check(CheckOutcome.FAILED, quote="The list is shown")
    bad = failed(0, fatal=False).model_copy(update={"checks": (claim,)})
    assert "without words for it" in check_verdicts(plan, [bad])[0]


def test_rule_2_a_fatal_check_makes_the_verdict_fatal() -> None:
    verdict = failed(0).model_copy(update={"fatal": False})
    assert "is fatal, but the verdict says it is not" in check_verdicts(plan_of(1), [verdict])[0]
    bare = StepVerdict(step="s0", outcome=FAILED)
    assert "is fatal, but the verdict says it is not" in check_verdicts(plan_of(1), [bare])[0]


def test_rule_3_a_step_scores_whole_or_nothing() -> None:
    card = score_plan(plan_of(5, 5), [failed(0, fatal=False), passed(1)])
    assert [step.score for step in card.steps] == [0, 5]
    mixed = passed(0).model_copy(update={"checks": (check(), check(CheckOutcome.BLOCKED))})
    assert "did not pass" in check_verdicts(plan_of(1), [mixed])[0]


def test_rule_4_after_a_fatal_failure_nothing_is_reached() -> None:
    plan = plan_of(2, 3, 4)
    card = score_plan(plan, [passed(0), failed(1), passed(2)])
    assert [step.outcome for step in card.steps] == [PASSED, FAILED, NOT_REACHED]
    assert [step.score for step in card.steps] == [2, 0, 0]
    assert card.steps[1].fatal
    assert card.steps[1].reason == "none shown"


def test_a_row_names_the_check_that_failed_and_why() -> None:
    odd = passed(0).model_copy(update={"failed_check": "The count"})
    card = score_plan(plan_of(1, 1, 1), [odd, failed(1)])
    assert [(step.failed_check, step.reason) for step in card.steps] == [
        (None, ""),
        ("The count", "none shown"),
        (None, ""),
    ]


def test_rule_5_normalized_is_between_0_and_1() -> None:
    assert score_plan(plan_of(1, 2), [passed(0)]).normalized == 1 / 3
    assert score_plan(plan_of(0), [passed(0)]).normalized == 0.0


def test_rule_6_the_reward_is_the_mean_over_all_plans() -> None:
    plans = [plan_of(1, plan_id="a"), plan_of(1, plan_id="b"), plan_of(1, plan_id="c")]
    records = {
        "a": record(plans[0], passed(0)),
        "b": record(plans[1], status=PlanStatus.START_FAILED),
        "c": record(plans[2], status=PlanStatus.SEEDING_FAILED),
    }
    assert score_rollout(plans, records).reward == 1 / 3
    with pytest.raises(ValueError, match="at least one plan"):
        reward([])


def test_rule_7_a_pass_without_evidence_does_not_count() -> None:
    bare = passed(0).model_copy(update={"evidence": ()})
    assert check_verdicts(plan_of(1), [bare]) == ["step 's0': passed without evidence"]
    row = score_plan(plan_of(1), [bare]).steps[0]
    assert (row.score, row.outcome, row.reason) == (0, BLOCKED, NO_EVIDENCE)


def test_rule_7_evidence_belongs_to_its_step() -> None:
    mine = Evidence(id="obs-0", seq=0, step="s0", tool="click")
    other = Evidence(id="obs-0", seq=0, step="s9", tool="click")
    assert check_verdicts(plan_of(1), [passed(0)], [mine]) == []
    assert "not captured during this step" in check_verdicts(plan_of(1), [passed(0)], [other])[0]
    assert check_verdicts(plan_of(1), [passed(0)], [])


@pytest.mark.parametrize(
    ("verdicts", "problem"),
    [
        ([passed(0)], "step 's1' has no verdict"),
        ([failed(1)], "step 's0' has no verdict"),
        ([passed(0), passed(1), passed(7)], "step 's7' is not in the plan"),
        ([passed(0), passed(0), passed(1)], "step 's0' has two verdicts"),
        ([passed(1), passed(0)], "step 's0' is out of order"),
        ([failed(0), passed(1)], "after the fatal failure in 's0'"),
        ([not_reached(0), passed(1)], "nothing fatal stands before it"),
        (
            [passed(0).model_copy(update={"checks": ()}), passed(1)],
            "passed without a check",
        ),
        ([passed(0).model_copy(update={"fatal": True})], "passed and fatal at once"),
        (
            [failed(0), not_reached(1).model_copy(update={"checks": (check(),)})],
            "not_reached, but it has checks",
        ),
    ],
)
def test_rule_9_verdicts_that_do_not_match_the_plan(
    verdicts: list[StepVerdict], problem: str
) -> None:
    assert any(problem in found for found in check_verdicts(plan_of(1, 1), verdicts))


@pytest.mark.parametrize(
    "verdicts",
    [
        [passed(0), passed(1)],
        [failed(0), not_reached(1)],
        [failed(0)],
        [failed(0, outcome=BLOCKED)],
        [failed(0, fatal=False), failed(1)],
    ],
)
def test_rule_9_verdicts_that_match(verdicts: list[StepVerdict]) -> None:
    assert check_verdicts(plan_of(1, 1), verdicts) == []


@pytest.mark.parametrize("status", list(PlanStatus))
def test_rule_10_points_are_earned_only_where_steps_were_reached(status: PlanStatus) -> None:
    card = score_plan(plan_of(2, 2), [passed(0), failed(1)], status)
    assert card.status is status
    assert card.score == (2 if status in {PlanStatus.GRADED, PlanStatus.APP_CRASHED} else 0)


@pytest.mark.parametrize("artifact", [item for item in ArtifactStatus if item != "ok"])
def test_rule_10_a_failed_build_is_exactly_zero_and_not_masked(artifact: ArtifactStatus) -> None:
    plan = plan_of(1)
    score = score_rollout([plan], {plan.id: record(plan, passed(0))}, artifact, "no scripts")
    assert score.model_dump() == {
        "reward": 0.0,
        "build_failed": True,
        "mask_sample": False,
        "failure_kind": artifact.value,
        "failure_reason": "no scripts",
    }


def test_rule_11_a_graders_fault_masks() -> None:
    plans = [plan_of(1, plan_id="a"), plan_of(1, plan_id="b"), plan_of(1, plan_id="c")]
    records = {
        "a": record(plans[0], passed(0)),
        "b": record(
            plans[1],
            status=PlanStatus.GRADER_FAILED,
            failure_kind="browser_failed",
            error="Chromium is gone",
        ),
    }
    score = score_rollout(plans, records)
    assert (score.mask_sample, score.failure_kind) == (True, "browser_failed")
    assert score.failure_reason == "b: Chromium is gone; c: was not measured"
    assert score_rollout(plans, {}).failure_kind == "not_measured"


def test_rule_11_a_measured_rollout_is_not_masked() -> None:
    plan = plan_of(1)
    score = score_rollout([plan], {plan.id: record(plan, status=PlanStatus.SETUP_FAILED)})
    assert (score.mask_sample, score.failure_kind, score.failure_reason) == (False, None, None)


def test_rule_11_failed_seeding_is_the_graders_fault_unless_the_app_broke() -> None:
    seeding = {"status": PlanStatus.SEEDING_FAILED}
    broken = record(plan_of(1), **seeding)
    assert (broken.masked, broken.app_fault, broken.seeding_failed) == (False, True, True)
    mine = record(plan_of(1), failure_kind="seeding_failed", **seeding)
    assert (mine.masked, mine.app_fault, mine.seeding_failed) == (True, False, True)
    assert score_rollout([plan_of(1)], {"mvp.t": mine}).failure_kind == "seeding_failed"


def test_rule_11_the_app_is_at_fault_where_it_lost_points_and_nothing_masks() -> None:
    plan = plan_of(1, 1)
    perfect, partly = record(plan, passed(0), passed(1)), record(plan, passed(0), failed(1))
    assert (perfect.app_fault, partly.app_fault) == (False, True)
    assert record(plan, status=PlanStatus.SETUP_FAILED).app_fault
    assert not record(plan, status=PlanStatus.GRADER_FAILED, failure_kind="x").app_fault


def test_derived_fields_are_stored_and_worked_out_again_when_read() -> None:
    stored = record(plan_of(1), passed(0)).model_dump(mode="json")
    assert (stored["app_fault"], stored["seeding_failed"]) == (False, False)
    older = {**stored, "app_fault": True}
    assert PlanRecord.model_validate_json(json.dumps(older)).model_dump(mode="json") == stored


def test_canonical_json_is_one_form_only() -> None:
    assert canonical_json({"b": 0.1, "a": "é"}) == '{\n  "a": "\\u00e9",\n  "b": 0.1\n}\n'
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json({"a": math.nan})


verdict_of = {
    "pass": passed,
    "fail": failed,
    "soft": lambda number: failed(number, fatal=False),
    "blocked": lambda number: failed(number, outcome=BLOCKED),
    "none": not_reached,
}
cases = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from(sorted(verdict_of))), min_size=1, max_size=8
)


def built(case: list[tuple[int, str]]) -> tuple[TestPlan, list[StepVerdict]]:
    plan = plan_of(*(points for points, _ in case))
    return plan, [verdict_of[kind](number) for number, (_, kind) in enumerate(case)]


@given(cases, st.sampled_from(PlanStatus))
def test_scores_are_finite_and_within_bounds(
    case: list[tuple[int, str]], status: PlanStatus
) -> None:
    plan, verdicts = built(case)
    card = score_plan(plan, verdicts, status)
    assert 0 <= card.score <= card.full_points
    assert 0.0 <= card.normalized <= 1.0
    assert card.score == sum(step.score for step in card.steps)
    assert all(step.score == (step.points if step.outcome is PASSED else 0) for step in card.steps)


@given(cases)
def test_nothing_counts_after_a_fatal_failure(case: list[tuple[int, str]]) -> None:
    card = score_plan(*built(case))
    stops = [number for number, step in enumerate(card.steps) if step.fatal]
    if stops:
        assert len(stops) == 1
        assert all(step.outcome is NOT_REACHED for step in card.steps[stops[0] + 1 :])


@given(cases, st.randoms(use_true_random=False))
def test_rule_12_the_order_of_verdicts_changes_nothing(
    case: list[tuple[int, str]], shuffle: random.Random
) -> None:
    plan, verdicts = built(case)
    mixed = list(verdicts)
    shuffle.shuffle(mixed)
    assert canonical_json(score_plan(plan, mixed)) == canonical_json(score_plan(plan, verdicts))


@given(st.lists(cases, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_rule_12_the_order_of_plans_changes_nothing(
    many: list[list[tuple[int, str]]], shuffle: random.Random
) -> None:
    cards = [score_plan(*built(case)) for case in many]
    mixed = list(cards)
    shuffle.shuffle(mixed)
    assert reward(cards) == reward(mixed)


@given(cases, st.data())
def test_rule_13_a_pass_never_lowers_the_reward(
    case: list[tuple[int, str]], data: st.DataObject
) -> None:
    failing = [
        number for number, (_, kind) in enumerate(case) if kind in ("fail", "soft", "blocked")
    ]
    assume(failing)
    at = data.draw(st.sampled_from(failing))
    plan, verdicts = built(case)
    better = [*verdicts[:at], passed(at), *verdicts[at + 1 :]]
    assert score_plan(plan, better).score >= score_plan(plan, verdicts).score


@given(cases)
def test_a_scorecard_survives_json(case: list[tuple[int, str]]) -> None:
    card = score_plan(*built(case))
    again = type(card).model_validate(json.loads(canonical_json(card)))
    assert canonical_json(again) == canonical_json(card)
