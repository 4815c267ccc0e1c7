# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Scores a finished run again from `plan.txt` and `plan.json` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.core.errors import RecordUnreadable
from vibench_gym.core.records import canonical_json
from vibench_gym.core.scoring.scorecard import RolloutScore, score_plan, score_rollout
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.core.tasks.plan import TestPlan, scan_plan

if TYPE_CHECKING:
    from vibench_gym.core.records import PlanRecord, RolloutRecord, Scorecard
    from vibench_gym.core.rundir import PlanDir, RolloutDir, RunDir


@dataclass(frozen=True, slots=True)
class RescoredPlan:
    """A plan's scorecard, computed again."""

    directory: PlanDir
    scorecard: Scorecard
    identical: bool
    """Whether `scorecard.json` holds these very bytes."""


@dataclass(frozen=True, slots=True)
class RescoredRollout:
    """A rollout, computed again."""

    directory: RolloutDir
    plans: tuple[RescoredPlan, ...]
    """Those that could be read."""
    score: RolloutScore | None
    """None where a plan could not be read: the reward is a mean over all of them."""
    identical: bool
    """Whether every scorecard, the reward and the mask are what the record says."""
    unreadable: tuple[RecordUnreadable, ...] = ()
    """Why plans were left out, one for each of them."""


@dataclass(frozen=True, slots=True)
class RescoredRun:
    """The finished rollouts of a run, computed again, and what had to be left out."""

    rollouts: tuple[RescoredRollout, ...]
    unreadable: tuple[RecordUnreadable, ...]
    """Of rollouts and of plans."""


def rescore(run: RunDir) -> list[RescoredRollout]:
    """Compute every finished rollout's scores again; nothing is written.

    Raises:
        RecordUnreadable: a record is cut or not of this version, or a plan's text is not the graded
            one.
    """
    found = rescore_readable(run)
    if found.unreadable:
        raise found.unreadable[0]
    return list(found.rollouts)


def rescore_readable(run: RunDir) -> RescoredRun:
    """As `rescore`, but what cannot be read is left out and named."""
    rollouts: list[RescoredRollout] = []
    unreadable: list[RecordUnreadable] = []
    for directory in run.rollouts():
        try:
            record = directory.read_rollout()
        except RecordUnreadable as cut:
            unreadable.append(cut)
            continue
        if record is not None and record.finished_at is not None:
            rollouts.append(rescore_rollout(directory, record))
            unreadable += rollouts[-1].unreadable
    return RescoredRun(tuple(rollouts), tuple(unreadable))


def rescore_rollout(directory: RolloutDir, record: RolloutRecord) -> RescoredRollout:
    """Compute one rollout's scores again."""
    plans: list[TestPlan] = []
    records: dict[str, PlanRecord] = {}
    cards: list[RescoredPlan] = []
    unreadable: list[RecordUnreadable] = []
    for plan_id in record.plans:
        plan_dir = directory.plan(plan_id)
        if record.artifact_status is not ArtifactStatus.OK and not plan_dir.path.exists():
            continue  # a failed build scores 0 whatever its plans say
        try:
            plan = _plan_of(plan_dir, record.plan_names.get(plan_id, plan_id))
            result = plan_dir.read_record()
            if result is not None:
                cards.append(_rescored(plan_dir, plan, result))
                records[plan_id] = result
            plans.append(plan)
        except RecordUnreadable as cut:
            unreadable.append(cut)
    if unreadable:
        return RescoredRollout(directory, tuple(cards), None, False, tuple(unreadable))
    score = score_rollout(plans, records, record.artifact_status, record.artifact_message)
    same_score = all(getattr(record, name) == value for name, value in score)
    same = same_score and all(card.identical for card in cards)
    return RescoredRollout(directory, tuple(cards), score, same)


def _rescored(directory: PlanDir, plan: TestPlan, record: PlanRecord) -> RescoredPlan:
    if record.plan_sha256 != plan.sha256:
        raise RecordUnreadable(directory.path / "plan.txt", "is not the plan that was graded")
    card = score_plan(plan, record.verdicts, record.status)
    same = directory.scorecard_bytes() == canonical_json(card).encode()
    if not same:
        directory.read_scorecard()  # one that is cut is no other score
    return RescoredPlan(directory, card, same)


def _plan_of(directory: PlanDir, source: str) -> TestPlan:
    path = directory.path / "plan.txt"
    text = directory.read_plan_text()
    if text is None:
        raise RecordUnreadable(path, "is not there")
    plan, _ = scan_plan(text, source, directory.plan_id)
    if plan is None:
        raise RecordUnreadable(path, "is not a usable plan")
    return plan
