# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One plan of one rollout: its attempts, its record, and the files it leaves.

A grader's fault is tried again from the plan's start, on a fresh stack; then the plan is masked. An
operator's fault is raised. An app's fault is a score: at once where the app was seen to fail, after
a second attempt where only a control experiment says that the failure was not ours.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import GraderFault, OperatorFault, SeedingFailed
from vibench_gym.core.fault_boundary import fault_boundary
from vibench_gym.core.records import PlanRecord, UsageRecord
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.events import EventLog, ProgressEvent, ProgressKind, Stopwatch
from vibench_gym.grading.plan.attempt import AttemptOutcome, PlanAttempt
from vibench_gym.grading.plan.attempt_resources import AttemptResources
from vibench_gym.grading.plan.files import ERROR_CHARS, clear_evidence, reset_plan, store_plan
from vibench_gym.grading.teardown import to_the_end
from vibench_gym.grading.untrusted.text import clip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vibench_gym.core.rundir import PlanDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.grading.context import GradingContext

_NOT_STANDING: Final = (PlanStatus.SETUP_FAILED, PlanStatus.START_FAILED, PlanStatus.APP_CRASHED)


@dataclass(slots=True)
class _Totals:
    """What all attempts at a plan used together."""

    flags: dict[str, None] = field(default_factory=dict)
    usage: list[UsageRecord] = field(default_factory=list)
    memory_bytes: int = 0

    def add(self, resources: AttemptResources) -> None:
        self.flags.update(dict.fromkeys(resources.flags.all()))
        self.usage += [model.record() for model in resources.models]
        self.memory_bytes = max(self.memory_bytes, resources.memory.bytes)


@dataclass(slots=True)
class _RetryBudget:
    """Attempts that are left: after a grader's fault, and after an outcome in doubt."""

    after_fault: int
    after_doubt: int

    def take(self, result: AttemptOutcome | GraderFault) -> str | None:
        """Use one up and say why the plan is tried again; None for a result that stands."""
        if isinstance(result, GraderFault):
            if not self.after_fault:
                return None
            self.after_fault -= 1
            return f"{result.failure_kind}: {result}"
        if not result.retry_reason or not self.after_doubt:
            return None
        self.after_doubt -= 1
        return f"in doubt: {result.retry_reason}"


class PlanRun:
    """Grades one plan of one artifact: writes its record and scorecard, and returns the record."""

    def __init__(self, context: GradingContext, plan: TestPlan, directory: PlanDir) -> None:
        self._context = context
        self._plan = plan
        self._directory = directory
        self._log = EventLog(directory.append_event)
        self._watch = Stopwatch()
        self._totals = _Totals()

    async def run(self) -> PlanRecord:
        """Wait for the limiter, then grade: at most `retries` times more for each kind of retry.

        Raises:
            OperatorFault: the operator has to act; nothing is recorded for the plan.
        """
        queued = time.monotonic()
        async with self._context.limiter:
            self._watch.add("queue", time.monotonic() - queued)
            self._log.restart()
            await asyncio.to_thread(reset_plan, self._directory, self._plan)
            self._tell("plan_started", self._plan.source)
            retries = self._context.config.retries
            budget = _RetryBudget(after_fault=retries, after_doubt=retries)
            number = 1
            attempt, result = await self._attempt(number)
            while (why := budget.take(result)) is not None:
                self._tell("retry", why)
                await asyncio.to_thread(clear_evidence, self._directory)
                number += 1
                attempt, result = await self._attempt(number)
            record = self._record(attempt, result, number)
            await to_the_end(partial(store_plan, self._directory, self._plan, record))
            self._tell("plan_done", str(record.status))
            return record

    async def _attempt(self, number: int) -> tuple[PlanAttempt, AttemptOutcome | GraderFault]:
        resources = AttemptResources(
            self._context, self._plan, self._directory, log=self._log, watch=self._watch
        )
        attempt = PlanAttempt(resources)
        self._log.add("attempt", number=number)
        try:
            # An attempt turns the app's faults into outcomes: one that comes out is a defect.
            with fault_boundary(f"plan {self._plan.id}", foreseen=(GraderFault, OperatorFault)):
                return attempt, await attempt.run()
        except GraderFault as fault:
            error = clip(fault.defect_trace or str(fault), ERROR_CHARS)
            self._log.add("error", error=error, failure_kind=fault.failure_kind)
            return attempt, fault
        finally:
            self._totals.add(resources)

    def _record(
        self, attempt: PlanAttempt, result: AttemptOutcome | GraderFault, number: int
    ) -> PlanRecord:
        if isinstance(result, AttemptOutcome):
            status, error, kind = result.status, result.error, None
            if status in _NOT_STANDING:
                error = f"{error}{self._context.hint}"
        else:
            seeding = isinstance(result, SeedingFailed)
            status = PlanStatus.SEEDING_FAILED if seeding else PlanStatus.GRADER_FAILED
            error, kind = str(result) or type(result).__name__, result.failure_kind
        return PlanRecord(
            plan=self._plan.id,
            plan_sha256=self._plan.sha256,
            status=status,
            failure_kind=kind,
            error=None if error is None else clip(error, ERROR_CHARS),
            attempts=number,
            seeded=attempt.seeded,
            verdicts=attempt.recorder.verdicts(),
            evidence=attempt.evidence,
            timings=self._watch.records(),
            usage=_summed(self._totals.usage),
            duration_s=round(self._log.elapsed_s, 3),
            peak_memory_bytes=self._totals.memory_bytes,
            flags=tuple(self._totals.flags),
        )

    def _tell(self, kind: ProgressKind, message: str) -> None:
        self._context.tell(ProgressEvent(kind, self._plan.id, None, message))


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
