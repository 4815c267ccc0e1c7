# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a finished rollout from its folder as commands print it: scores, and why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.cli.wire import CauseOut, RolloutOut, cause_out, rollout_out
from vibench_gym.core.record_files import if_readable
from vibench_gym.core.status import PlanStatus
from vibench_gym.report.load import log_tail

if TYPE_CHECKING:
    from vibench_gym.core.records import PlanRecord, RolloutRecord, Scorecard
    from vibench_gym.core.rundir import PlanDir, RolloutDir

LOG_LINES = 12
LOG_CHARS = 2000


def read_results(directory: RolloutDir, record: RolloutRecord) -> RolloutOut:
    """The rollout of a record with what its plans left in the folder."""
    cards: dict[str, Scorecard] = {}
    causes: dict[str, CauseOut] = {}
    for plan_id in record.plans:
        plan = directory.plan(plan_id)
        if (card := if_readable(plan.read_scorecard)) is not None:
            cards[plan_id] = card
        stored = if_readable(plan.read_record)
        cause = None if stored is None else _cause(directory, plan, stored)
        if cause is not None:
            causes[plan_id] = cause
    return rollout_out(record, cards, causes)


def _cause(rollout: RolloutDir, plan: PlanDir, record: PlanRecord) -> CauseOut | None:
    if record.status is PlanStatus.GRADED:
        return None
    log = rollout.setup_log if record.status is PlanStatus.SETUP_FAILED else plan.app_log
    return cause_out(
        record.failure_kind or record.status.value,
        record.error,
        last_lines(log_tail(log)),
    )


def last_lines(text: str) -> str:
    """The last lines of a log that say something, bounded."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    return "\n".join(lines[-LOG_LINES:])[-LOG_CHARS:]
