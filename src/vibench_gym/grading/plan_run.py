# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One plan of one rollout: attempts, the record of what happened, results on disk at once.

A grader's fault is tried again on a fresh stack, from the plan's start; then the plan is masked.
What the operator has to see to is passed on. The app's faults are scores: at the first attempt
where it was seen to fail, at the second where only a control says that it was not us.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import GraderFault, OperatorFault, SeedingFailed
from vibench_gym.core.records import PlanRecord, UsageRecord
from vibench_gym.core.scoring.scorecard import score_plan
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.attempt_resources import AttemptResources
from vibench_gym.grading.events import EventLog, ProgressEvent, ProgressKind, Stopwatch
from vibench_gym.grading.plan_attempt import Outcome, PlanAttempt
from vibench_gym.grading.qa.verdict_recorder import nothing_reached
from vibench_gym.grading.untrusted_text import clip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vibench_gym.core.errors import VibenchGymError
    from vibench_gym.core.rundir import PlanDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.grading.context import GradingContext

_ERROR_CHARS: Final = 4000
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Totals:
    """What all attempts at a plan used together."""

    flags: dict[str, None] = field(default_factory=dict)
    usage: list[UsageRecord] = field(default_factory=list)
    memory_bytes: int = 0

    def add(self, shop: AttemptResources) -> None:
        self.flags.update(dict.fromkeys(shop.flags.all()))
        self.usage += [model.record() for model in shop.models]
        self.memory_bytes = max(self.memory_bytes, shop.memory.bytes)


class PlanRun:
    """Grades one plan of one artifact: writes its record and scorecard, gives back the record."""

    def __init__(self, bench: GradingContext, plan: TestPlan, directory: PlanDir) -> None:
        self._bench = bench
        self._plan = plan
        self._directory = directory
        self._log = EventLog(directory.append_event)
        self._watch = Stopwatch()
        self._totals = _Totals()

    async def run(self, *, queue_s: float = 0.0) -> PlanRecord:
        """Grade the plan, at most `retries` times more after a grader's fault, as often in doubt.

        Raises:
            OperatorFault: the operator has to act; nothing is recorded for the plan.
        """
        await asyncio.to_thread(reset_plan, self._directory, self._plan)
        self._watch.add("queue", queue_s)
        self._tell("plan_started", self._plan.source)
        number = 1
        attempt, result = await self._attempt(number)
        left = {Outcome: self._bench.config.retries, GraderFault: self._bench.config.retries}
        while (why := _worth_another(result)) and left[_kind(result)] > 0:
            left[_kind(result)] -= 1
            self._tell("retry", why)
            await asyncio.to_thread(_clear_evidence, self._directory)
            number += 1
            attempt, result = await self._attempt(number)
        record = self._record(attempt, result, number)
        store_plan(self._directory, self._plan, record)
        self._tell("plan_done", str(record.status))
        return record

    async def _attempt(self, number: int) -> tuple[PlanAttempt, Outcome | GraderFault]:
        shop = AttemptResources(
            self._bench, self._plan, self._directory, log=self._log, watch=self._watch
        )
        attempt = PlanAttempt(shop)
        self._log.add("attempt", number=number)
        try:
            return attempt, await attempt.run()
        except OperatorFault:
            raise
        except GraderFault as fault:
            self._log.add("error", error=str(fault), failure_kind=fault.failure_kind)
            return attempt, fault
        except Exception as defect:  # a defect costs a plan, not the run
            _logger.exception("plan %s: a defect of the grader", self._plan.id)
            where = traceback.format_exc(limit=-5)
            self._log.add("error", error=clip(where, 4000), failure_kind=GraderFault.failure_kind)
            return attempt, GraderFault(f"a defect of the grader: {defect!r}")
        finally:
            self._totals.add(shop)

    def _record(
        self, attempt: PlanAttempt, result: Outcome | GraderFault, number: int
    ) -> PlanRecord:
        if isinstance(result, Outcome):
            status, error, kind = result.status, result.error, None
        else:
            seeding = isinstance(result, SeedingFailed)
            status = PlanStatus.SEEDING_FAILED if seeding else PlanStatus.GRADER_FAILED
            error, kind = str(result) or type(result).__name__, result.failure_kind
        return PlanRecord(
            plan=self._plan.id,
            plan_sha256=self._plan.sha256,
            status=status,
            failure_kind=kind,
            error=None if error is None else clip(error, _ERROR_CHARS),
            attempts=number,
            seeded=attempt.seeded,
            verdicts=attempt.book.verdicts(),
            evidence=attempt.evidence,
            timings=self._watch.records(),
            usage=_summed(self._totals.usage),
            duration_s=round(self._log.elapsed_s, 3),
            peak_memory_bytes=self._totals.memory_bytes,
            flags=tuple(self._totals.flags),
        )

    def _tell(self, kind: ProgressKind, message: str) -> None:
        self._bench.tell(ProgressEvent(kind, self._plan.id, None, message))


def _worth_another(result: Outcome | GraderFault) -> str | None:
    """Why the plan should be tried again; None for an outcome that stands."""
    if isinstance(result, Outcome):
        return f"in doubt: {result.retry_reason}" if result.retry_reason else None
    return f"{result.failure_kind}: {result}"


def _kind(result: Outcome | GraderFault) -> type[Outcome | GraderFault]:
    return Outcome if isinstance(result, Outcome) else GraderFault


def failed_record(plan: TestPlan, status: PlanStatus, error: VibenchGymError | str) -> PlanRecord:
    """The record of a plan that never started: the artifact's or the machinery's fault."""
    fault = error if isinstance(error, GraderFault) else None
    return PlanRecord(
        plan=plan.id,
        plan_sha256=plan.sha256,
        status=status,
        failure_kind=fault.failure_kind if fault else None,
        error=clip(str(error), _ERROR_CHARS),
        verdicts=nothing_reached(plan),
    )


def store_plan(directory: PlanDir, plan: TestPlan, record: PlanRecord) -> None:
    """Write the plan's text, record and scorecard; the record comes last: it says "finished"."""
    directory.create()
    directory.write_plan(plan)
    directory.write_scorecard(score_plan(plan, record.verdicts, record.status))
    directory.write_record(record)


def finished_record(directory: PlanDir, plan: TestPlan) -> PlanRecord | None:
    """The record of an earlier run of this plan, if it is complete, of this text, and measured."""
    record = directory.read_record()
    if record is None or record.plan_sha256 != plan.sha256 or record.masked:
        return None
    return record if directory.read_scorecard() is not None else None


def _summed(usage: Iterable[UsageRecord]) -> tuple[UsageRecord, ...]:
    """One record per role and model."""
    total: dict[tuple[str, str], UsageRecord] = {}
    for one in usage:
        key = (one.role, one.model)
        had = total.get(key)
        total[key] = one if had is None else _plus(had, one)
    return tuple(total.values())


def _plus(one: UsageRecord, other: UsageRecord) -> UsageRecord:
    return UsageRecord(
        role=one.role,
        model=one.model,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        requests=one.requests + other.requests,
        seconds=round(one.seconds + other.seconds, 4),
    )


def reset_plan(directory: PlanDir, plan: TestPlan) -> None:
    """Start from an empty folder: leftovers of a killed run are not this run's evidence."""
    shutil.rmtree(directory.path, ignore_errors=True)
    directory.create()
    directory.write_plan(plan)


def _clear_evidence(directory: PlanDir) -> None:
    """The next attempt's screenshots must not be taken for this one's."""
    for folder in (directory.screenshots, directory.downloads):
        shutil.rmtree(folder, ignore_errors=True)
    directory.create()
