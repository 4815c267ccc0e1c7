# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A plan's folder in the results: emptied before a run, complete once `plan.json` is there.

Both graders write through here, so that a run that is gone on with finds the same files.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import GraderFault, RecordUnreadable
from vibench_gym.core.record_files import if_readable
from vibench_gym.core.records import PlanRecord
from vibench_gym.core.scoring.scorecard import score_plan
from vibench_gym.core.shown_log import shown_logger
from vibench_gym.grading.qa.verdict_recorder import nothing_reached
from vibench_gym.grading.untrusted.text import clip

if TYPE_CHECKING:
    from vibench_gym.core.errors import VibenchGymError
    from vibench_gym.core.rundir import PlanDir
    from vibench_gym.core.status import PlanStatus
    from vibench_gym.core.tasks.plan import TestPlan

ERROR_CHARS: Final = 4000
"""Of an error that a record or an event keeps."""
_LOG = shown_logger(__name__)


def failed_record(plan: TestPlan, status: PlanStatus, error: VibenchGymError) -> PlanRecord:
    """The record of a plan that never started: the artifact's or the machinery's fault."""
    return PlanRecord(
        plan=plan.id,
        plan_sha256=plan.sha256,
        status=status,
        failure_kind=error.failure_kind if isinstance(error, GraderFault) else None,
        error=clip(str(error), ERROR_CHARS),
        verdicts=nothing_reached(plan),
    )


def store_plan(directory: PlanDir, plan: TestPlan, record: PlanRecord) -> None:
    """Write the plan's text, scorecard and record; the record comes last: it says "finished".

    The pictures and logs that it speaks of are on the disk before it is. Blocks: use a thread.
    """
    directory.create()
    directory.write_plan(plan)
    directory.write_scorecard(score_plan(plan, record.verdicts, record.status))
    directory.sync_evidence()
    directory.write_record(record)


def measured_record(directory: PlanDir, plan: TestPlan) -> PlanRecord | None:
    """The record of an earlier run of this plan, if it is complete, of this text, and measured.

    What cannot be read was not measured. The text itself is known, so it is written again instead.
    """
    try:
        record = directory.read_record()
        scored = directory.read_scorecard() is not None
    except RecordUnreadable as unreadable:
        _LOG.warning("%s %s: plan %s is measured again", unreadable.path, unreadable.why, plan.id)
        return None
    if record is None or not scored or record.plan_sha256 != plan.sha256 or record.masked:
        return None
    if if_readable(directory.read_plan_text) != plan.text:
        directory.write_plan(plan)
    return record


def reset_plan(directory: PlanDir, plan: TestPlan) -> None:
    """Start from an empty folder: files of a run that was killed are not this run's evidence."""
    directory.remove()
    directory.create()
    directory.write_plan(plan)


def clear_evidence(directory: PlanDir) -> None:
    """Remove an attempt's pictures: they must not be taken for those of the next one."""
    for folder in (directory.screenshots, directory.downloads):
        shutil.rmtree(folder, ignore_errors=True)
    directory.create()
