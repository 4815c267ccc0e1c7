# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Scores a finished run again from `plan.txt` and `plan.json` alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.core.errors import ConfigError
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
    score: RolloutScore
    identical: bool
    """Whether every scorecard, the reward and the mask are what the record says."""


def rescore(run: RunDir) -> list[RescoredRollout]:
    """Compute every finished rollout's scores again; nothing is written.

    Raises:
        ConfigError: a record is not of this version, or a plan's text is not the graded one.
    """
    found = []
    for directory in run.rollouts():
        record = directory.read_rollout()
        if record is not None and record.finished_at is not None:
            found.append(rescore_rollout(directory, record))
    return found


def rescore_rollout(directory: RolloutDir, record: RolloutRecord) -> RescoredRollout:
    """Compute one rollout's scores again.

    Raises:
        ConfigError: as `rescore`.
    """
    plans: list[TestPlan] = []
    records: dict[str, PlanRecord] = {}
    cards: list[RescoredPlan] = []
    for plan_id in record.plans:
        plan_dir = directory.plan(plan_id)
        if record.artifact_status is not ArtifactStatus.OK and not plan_dir.path.exists():
            continue  # a failed build scores 0 whatever its plans say
        plan = _plan_of(plan_dir, record.plan_names.get(plan_id, plan_id))
        plans.append(plan)
        result = plan_dir.read_record()
        if result is None:
            continue
        if result.plan_sha256 != plan.sha256:
            raise ConfigError(f"{str(plan_dir.path)!r}: plan.txt is not the plan that was graded")
        records[plan_id] = result
        card = score_plan(plan, result.verdicts, result.status)
        same = plan_dir.scorecard_bytes() == canonical_json(card).encode()
        cards.append(RescoredPlan(plan_dir, card, same))
    score = score_rollout(plans, records, record.artifact_status, record.artifact_message)
    same_score = all(getattr(record, name) == value for name, value in score)
    same = same_score and all(card.identical for card in cards)
    return RescoredRollout(directory, tuple(cards), score, same)


def _plan_of(directory: PlanDir, source: str) -> TestPlan:
    text = directory.read_plan_text()
    if text is None:
        raise ConfigError(f"{str(directory.path)!r} has no plan.txt: it cannot be scored again")
    plan, _ = scan_plan(text, source, directory.plan_id)
    if plan is None:
        raise ConfigError(f"{str(directory.path / 'plan.txt')!r} is not a usable plan")
    return plan
