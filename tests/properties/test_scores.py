# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Invariants of the score: over any plans and any verdicts, possible ones or not."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.strategies import (
    evidence_of,
    honest_verdicts,
    plans,
    records,
    rollouts,
    verdict,
    verdicts,
)
from vibench_gym.core.errors import GraderFault, SubmissionFault
from vibench_gym.core.records import PlanRecord, RolloutRecord, Scorecard, canonical_json
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.scoring.rescore import rescore
from vibench_gym.core.scoring.scorecard import (
    SCORED,
    check_verdicts,
    reward,
    score_plan,
    score_rollout,
)
from vibench_gym.core.status import ArtifactStatus, PlanStatus, StepOutcome
from vibench_gym.core.tasks.plan import TestPlan, scan_plan

APP_STATUSES = frozenset(PlanStatus) - {PlanStatus.GRADER_FAILED, PlanStatus.SEEDING_FAILED}


@given(rollouts())
def test_reward_is_finite_and_from_0_to_1(
    rollout: tuple[list[TestPlan], dict[str, PlanRecord]],
) -> None:
    score = score_rollout(*rollout)
    assert math.isfinite(score.reward)
    assert 0.0 <= score.reward <= 1.0


@given(rollouts())
def test_reward_is_the_mean_of_what_is_stored(
    rollout: tuple[list[TestPlan], dict[str, PlanRecord]],
) -> None:
    plans_, kept = rollout
    exact = Fraction(0)
    for plan in plans_:
        record = kept.get(plan.id)
        if record is None or record.status not in SCORED:
            continue
        card = score_plan(plan, record.verdicts, record.status)
        exact += Fraction(
            sum(row.points for row in card.steps if row.outcome == "passed"), plan.full_points
        )
    assert score_rollout(plans_, kept).reward == pytest.approx(
        float(exact / len(plans_)), abs=1e-12
    )


@given(plans(), st.data())
def test_one_verdict_more_passed_never_lowers_the_reward(
    plan: TestPlan, data: st.DataObject
) -> None:
    before = data.draw(honest_verdicts(plan))
    at = data.draw(st.integers(0, len(before) - 1))
    after = [*before]
    after[at] = verdict(before[at].step, "passed", at)
    one, two = score_plan(plan, before), score_plan(plan, after)
    assert reward([two]) >= reward([one])


@given(plans(), st.data())
def test_the_order_of_verdicts_and_plans_changes_no_scorecard(
    plan: TestPlan, data: st.DataObject
) -> None:
    said = data.draw(verdicts(plan))
    said = list({one.step: one for one in said}.values())
    shuffled = data.draw(st.permutations(said))
    card = score_plan(plan, said)
    assert canonical_json(score_plan(plan, shuffled)) == canonical_json(card)
    cards = [card, *(score_plan(plan, [], PlanStatus.START_FAILED) for _ in range(2))]
    assert reward(data.draw(st.permutations(cards))) == reward(cards)


@given(plans(), st.data())
def test_a_step_earns_all_of_its_points_or_none(plan: TestPlan, data: st.DataObject) -> None:
    card = score_plan(plan, data.draw(verdicts(plan)))
    assert [row.points for row in card.steps] == [step.points for step in plan.steps]
    assert all(row.score in {0, row.points} for row in card.steps)
    assert card.score == sum(row.score for row in card.steps)
    assert card.full_points == plan.full_points
    assert card.normalized == card.score / card.full_points


@given(plans(), st.data())
def test_nothing_after_a_fatal_failure_earns(plan: TestPlan, data: st.DataObject) -> None:
    rows = score_plan(plan, data.draw(verdicts(plan))).steps
    stopped = False
    for row in rows:
        assert not (stopped and (row.score or row.outcome != StepOutcome.NOT_REACHED))
        stopped = stopped or row.fatal


@given(plans(), st.data())
def test_nothing_without_evidence_earns(plan: TestPlan, data: st.DataObject) -> None:
    bare = [one.model_copy(update={"evidence": ()}) for one in data.draw(verdicts(plan))]
    assert score_plan(plan, bare).score == 0


@given(plans(), st.data(), st.sampled_from(sorted(set(PlanStatus) - SCORED)))
def test_a_plan_that_was_not_tested_earns_nothing(
    plan: TestPlan, data: st.DataObject, status: PlanStatus
) -> None:
    assert score_plan(plan, data.draw(verdicts(plan)), status).normalized == 0.0


@given(rollouts())
def test_masked_exactly_when_a_plan_ended_in_a_graders_fault(
    rollout: tuple[list[TestPlan], dict[str, PlanRecord]],
) -> None:
    plans_, kept = rollout
    expected = any(
        plan.id not in kept
        or kept[plan.id].status == PlanStatus.GRADER_FAILED
        or (
            kept[plan.id].status == PlanStatus.SEEDING_FAILED
            and kept[plan.id].failure_kind is not None
        )
        for plan in plans_
    )
    score = score_rollout(plans_, kept)
    assert score.mask_sample == expected
    assert (score.failure_kind is None) == (score.failure_reason is None) == (not expected)


@given(plans(), st.data())
def test_no_status_of_the_apps_masks(plan: TestPlan, data: st.DataObject) -> None:
    record = data.draw(records(plan))
    assume(record.status in APP_STATUSES)
    assert not record.masked
    assert not score_rollout([plan], {plan.id: record}).mask_sample


@given(rollouts(), st.sampled_from(sorted(set(ArtifactStatus) - {ArtifactStatus.OK})))
def test_a_failed_build_is_exactly_0_and_never_masked(
    rollout: tuple[list[TestPlan], dict[str, PlanRecord]], status: ArtifactStatus
) -> None:
    score = score_rollout(*rollout, artifact=status)
    assert (score.reward, score.build_failed, score.mask_sample) == (0.0, True, False)
    assert score.failure_kind == status


@given(plans(), st.data())
def test_verdicts_that_keep_the_rules_are_accepted(plan: TestPlan, data: st.DataObject) -> None:
    said = data.draw(honest_verdicts(plan))
    assert check_verdicts(plan, said, evidence_of(said)) == []


@given(plans(), st.data())
def test_verdicts_that_do_not_match_the_plan_are_refused(
    plan: TestPlan, data: st.DataObject
) -> None:
    said = data.draw(honest_verdicts(plan))
    seen = evidence_of(said)
    at = data.draw(st.integers(0, len(said) - 1))
    one = said[at]
    spoilt = data.draw(
        st.sampled_from(
            [
                [*said[:at], *said[at + 1 :]],
                [*said, one],
                [*said[:at], one.model_copy(update={"step": "unknown"}), *said[at + 1 :]],
                [*said[:at], verdict(one.step, "passed", 99), *said[at + 1 :]],
                [*said[:at], verdict(one.step, "passed", at).model_copy(update={"checks": ()}),
                 *said[at + 1 :]],
                [*said[:at], verdict(one.step, "passed", at).model_copy(update={"evidence": ()}),
                 *said[at + 1 :]],
                [*said[1:], said[0]] if len(said) > 1 else [],
            ]
        )
    )  # fmt: skip
    assert check_verdicts(plan, spoilt, seen)


@given(plans(), st.data())
def test_what_is_refused_never_earns_more_than_its_passes(
    plan: TestPlan, data: st.DataObject
) -> None:
    said = data.draw(verdicts(plan))
    most = {one.step for one in said if one.outcome == StepOutcome.PASSED and one.evidence}
    assert score_plan(plan, said).score <= sum(s.points for s in plan.steps if s.name in most)


@given(rollouts())
def test_records_come_back_from_disk_as_they_were(
    rollout: tuple[list[TestPlan], dict[str, PlanRecord]],
) -> None:
    for plan in rollout[0]:
        record = rollout[1].get(plan.id)
        if record is None:
            continue
        text = canonical_json(record)
        assert PlanRecord.model_validate_json(text) == record
        assert canonical_json(PlanRecord.model_validate_json(text)) == text
        card = score_plan(plan, record.verdicts, record.status)
        assert Scorecard.model_validate_json(canonical_json(card)) == card
        assert json.loads(canonical_json(card))["normalized"] == card.normalized


@given(st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(0, 3))
def test_a_number_that_is_not_finite_is_never_written(number: float, depth: int) -> None:
    value: object = number
    for _ in range(depth):
        value = [{"x": value}]
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"value": value})


@given(st.data())
def test_a_stored_rollout_is_rescored_byte_for_byte(data: st.DataObject) -> None:
    text = (
        "<test_plan><purpose>p</purpose><seeding_and_precondition>N/A</seeding_and_precondition>"
        "<steps><step><name>s0</name>Look.<points>2</points></step>"
        "<step><name>s1</name>Look.<points>3</points></step></steps>"
        "<full_points>5</full_points></test_plan>"
    )
    plan, _ = scan_plan(text, "t.txt", "mvp.t")
    assert plan is not None
    record = data.draw(records(plan))
    score = score_rollout([plan], {plan.id: record})
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir(Path(folder))
        rollout = run.rollout("task", "label")
        where = rollout.plan(plan.id).create()
        where.write_plan(plan)
        where.write_record(record)
        where.write_scorecard(score_plan(plan, record.verdicts, record.status))
        rollout.write_rollout(
            RolloutRecord(
                label="label",
                task="task",
                artifact="mvp",
                artifact_sha256="0" * 64,
                artifact_status=ArtifactStatus.OK,
                plans=(plan.id,),
                plan_names={plan.id: "t.txt"},
                started_at="2026-01-01T00:00:00+00:00",
                finished_at="2026-01-01T00:00:01+00:00",
                **score.model_dump(),
            )
        )
        (again,) = rescore(run)
    assert again.identical
    assert again.score == score


@given(
    st.sampled_from(SubmissionFault.__subclasses__()), st.sampled_from(GraderFault.__subclasses__())
)
def test_every_fault_has_one_owner(app: type[Exception], ours: type[GraderFault]) -> None:
    assert not issubclass(app, GraderFault)
    assert not issubclass(ours, SubmissionFault)
    kinds = [kind.failure_kind for kind in GraderFault.__subclasses__()]
    assert len(set(kinds)) == len(kinds)
