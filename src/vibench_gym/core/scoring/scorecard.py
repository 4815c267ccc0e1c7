# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The law of the score as pure functions (docs/scoring.md): no clock, no host, no file, no LLM.

Points come from the plan, verdicts say only what was seen. `check_verdicts` decides whether
verdicts can be used; `score_plan` is total all the same, and gives nothing for what it cannot use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vibench_gym.core.records import Record, Scorecard, StepScore
from vibench_gym.core.scoring.fatality import is_non_fatal
from vibench_gym.core.status import ArtifactStatus, CheckOutcome, PlanStatus, StepOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vibench_gym.core.records import PlanRecord
    from vibench_gym.core.tasks.plan import Step, TestPlan
    from vibench_gym.core.verdict import Check, Evidence, StepVerdict

SCORED = frozenset({PlanStatus.GRADED, PlanStatus.APP_CRASHED})
"""Statuses under which steps were reached; every other one scores 0."""
NO_EVIDENCE = "passed without evidence: does not count (rule 7)"
_REASON_CHARS = 2000


class RolloutScore(Record):
    """What a rollout comes to."""

    reward: float
    build_failed: bool
    mask_sample: bool
    failure_kind: str | None
    """The grader's fault that masks, or the artifact's status where the build failed."""
    failure_reason: str | None


def check_verdicts(
    plan: TestPlan, verdicts: Sequence[StepVerdict], evidence: Sequence[Evidence] | None = None
) -> list[str]:
    """Why these verdicts cannot be used for this plan (rules 2, 3, 4, 7 and 9); empty if they can.

    One verdict per step in the plan's order; after a fatal failure the rest is absent or
    `not_reached`. With `evidence` the ids that verdicts name are looked up in it.
    """
    problems = _check_order(plan, verdicts)
    steps = {step.name: step for step in plan.steps}
    homes = None if evidence is None else {item.id: item.step for item in evidence}
    for verdict in verdicts:
        if verdict.step in steps:
            found = _check_one(steps[verdict.step], verdict, homes)
            problems += [f"step {verdict.step!r}: {what}" for what in found]
    return problems


def _check_order(plan: TestPlan, verdicts: Sequence[StepVerdict]) -> list[str]:
    names = [step.name for step in plan.steps]
    problems: list[str] = []
    seen: set[str] = set()
    last, stopped_at = -1, ""
    for verdict in verdicts:
        name = verdict.step
        if name not in names:
            problems.append(f"step {name!r} is not in the plan")
            continue
        if name in seen:
            problems.append(f"step {name!r} has two verdicts")
            continue
        seen.add(name)
        if names.index(name) < last:
            problems.append(f"step {name!r} is out of order")
        last = max(last, names.index(name))
        reached = verdict.outcome is not StepOutcome.NOT_REACHED
        if stopped_at and reached:
            problems.append(
                f"step {name!r} has a verdict after the fatal failure in {stopped_at!r}"
            )
        if not stopped_at and not reached:
            problems.append(f"step {name!r} is not_reached, but nothing fatal stands before it")
        if not stopped_at and reached and verdict.fatal:
            stopped_at = name
    needed = names[: names.index(stopped_at)] if stopped_at else names
    problems += [f"step {name!r} has no verdict" for name in needed if name not in seen]
    return problems


def _check_one(step: Step, verdict: StepVerdict, homes: Mapping[str, str] | None) -> list[str]:
    failed = [check for check in verdict.checks if check.outcome is not CheckOutcome.PASSED]
    if verdict.outcome is StepOutcome.NOT_REACHED:
        return ["not_reached, but it has checks"] if verdict.checks else []
    if verdict.outcome is StepOutcome.PASSED:
        return _check_pass(step, verdict, failed, homes)
    problems = [
        f"non-fatal failure without words for it in the plan: {check.quote[:80]!r}"
        for check in failed
        if not check.fatal and not is_non_fatal(step.prose, check.quote)
    ]
    if not verdict.fatal and (not failed or any(check.fatal for check in failed)):
        problems.append("its failure is fatal, but the verdict says it is not")
    return problems


def _check_pass(
    step: Step,
    verdict: StepVerdict,
    failed: Sequence[Check],
    homes: Mapping[str, str] | None,
) -> list[str]:
    problems = []
    if not verdict.checks:
        problems.append("passed without a check")
    if failed:
        problems.append(f"passed, but {failed[0].text[:80]!r} did not pass")
    if verdict.fatal:
        problems.append("passed and fatal at once")
    if not verdict.evidence:
        problems.append("passed without evidence")
    elif homes is not None:
        problems += [
            f"evidence {item!r} was not captured during this step"
            for item in verdict.evidence
            if homes.get(item) != step.name
        ]
    return problems


def score_plan(
    plan: TestPlan, verdicts: Iterable[StepVerdict], status: PlanStatus = PlanStatus.GRADED
) -> Scorecard:
    """Score one plan (rules 3 to 5). The order of the verdicts does not matter."""
    by_step: dict[str, StepVerdict] = {}
    if status in SCORED:
        for verdict in verdicts:
            by_step.setdefault(verdict.step, verdict)
    rows: list[StepScore] = []
    stopped = False
    for step in plan.steps:
        row = _score_step(step, None if stopped else by_step.get(step.name))
        stopped = stopped or row.fatal
        rows.append(row)
    score = sum(row.score for row in rows)
    full = plan.full_points
    return Scorecard(
        plan=plan.id,
        status=status,
        score=score,
        full_points=full,
        normalized=score / full if full else 0.0,
        steps=tuple(rows),
    )


def _score_step(step: Step, verdict: StepVerdict | None) -> StepScore:
    outcome = verdict.outcome if verdict else StepOutcome.NOT_REACHED
    reason = verdict.reason if verdict else ""
    if verdict and outcome is StepOutcome.PASSED and not verdict.evidence:
        outcome, reason = StepOutcome.BLOCKED, NO_EVIDENCE
    passed = outcome is StepOutcome.PASSED
    return StepScore(
        name=step.name,
        points=step.points,
        score=step.points if passed else 0,
        outcome=outcome,
        fatal=bool(verdict and verdict.fatal and not passed),
        failed_check=None if passed or verdict is None else verdict.failed_check,
        reason=reason,
    )


def reward(scorecards: Iterable[Scorecard]) -> float:
    """Mean of `normalized` over all of a task's plans (rule 6), the same in any order.

    Raises:
        ValueError: there is no plan; tasks without plans are refused when they are loaded.
    """
    values = [card.normalized for card in scorecards]
    if not values:
        raise ValueError("a reward needs at least one plan")
    return math.fsum(values) / len(values)


def score_rollout(
    plans: Sequence[TestPlan],
    records: Mapping[str, PlanRecord],
    artifact: ArtifactStatus = ArtifactStatus.OK,
    artifact_message: str = "",
) -> RolloutScore:
    """Score one artifact over all of its task's plans (rules 6, 10 and 11).

    `records` is keyed by plan id; a plan without a record was not measured, which masks.
    """
    if artifact is not ArtifactStatus.OK:
        return RolloutScore(
            reward=0.0,
            build_failed=True,
            mask_sample=False,
            failure_kind=artifact.value,
            failure_reason=artifact_message[:_REASON_CHARS] or None,
        )
    cards, faults = [], []
    for plan in plans:
        record = records.get(plan.id)
        status = record.status if record else PlanStatus.GRADER_FAILED
        cards.append(score_plan(plan, record.verdicts if record else (), status))
        if record is None:
            faults.append(("not_measured", f"{plan.id}: was not measured"))
        elif record.masked:
            kind = record.failure_kind or status.value
            faults.append((kind, f"{plan.id}: {record.error or kind}"))
    return RolloutScore(
        reward=reward(cards),
        build_failed=False,
        mask_sample=bool(faults),
        failure_kind=faults[0][0] if faults else None,
        failure_reason="; ".join(text for _, text in faults)[:_REASON_CHARS] or None,
    )
