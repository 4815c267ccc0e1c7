# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One rollout: an artifact goes in, a record with a reward comes out.

Unpack within budgets, set up once, grade every plan from the snapshot, score. Results are written
as they come. What the artifact is and does can only lower its own score; what breaks on our side is
tried once more and then masks; what the operator has to see to ends the run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vibench_gym.core.config import ArchiveBudget, GraderConfig
from vibench_gym.core.errors import (
    AppSetupFailed,
    GraderFault,
    OperatorFault,
    SubmissionFault,
    VibenchGymError,
)
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.artifact import Unpacked, unpacked
from vibench_gym.grading.context import BrowserLauncher, GradingContext, ModelSource, close_shielded
from vibench_gym.grading.events import Progress, ProgressEvent, ProgressKind, Stopwatch
from vibench_gym.grading.plan_run import PlanRun, failed_record, finished_record, store_plan
from vibench_gym.grading.rollout_recorder import RolloutRecorder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.core.records import PlanRecord, RolloutRecord
    from vibench_gym.core.rundir import RolloutDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.stack.base import PreparedApp, StackBuilder

_logger = logging.getLogger(__name__)
__all__ = ["BrowserLauncher", "Grader", "ModelSource"]


class Grader:
    """Grades artifacts on tasks. One grader has one limiter for all plans of all its rollouts.

    A limiter that is given may be shared with other graders; it is entered once per plan. `now` is
    the host's clock, in seconds since the epoch.
    """

    def __init__(
        self,
        *,
        stacks: StackBuilder,
        models: ModelSource,
        browsers: BrowserLauncher,
        config: GraderConfig | None = None,
        archive: ArchiveBudget | None = None,
        limiter: AbstractAsyncContextManager[object] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.stacks = stacks
        self.models = models
        self.browsers = browsers
        self.config = config or GraderConfig()
        self.archive = archive or ArchiveBudget()
        self.limiter = limiter or asyncio.Semaphore(self.config.concurrency)
        self.now = now

    async def grade(
        self,
        task: Task,
        app: Path,
        *,
        rollout: RolloutDir,
        label: str,
        progress: Progress | None = None,
        resume: bool = False,
    ) -> RolloutRecord:
        """Grade an app (a folder or an archive) on every plan of a task.

        With `resume`, plans that were measured in this folder before, for the same artifact and
        the same plan text, are kept.

        Raises:
            OperatorFault: the operator has to act; what was measured so far stays on disk.
        """
        return await _Rollout(self, task, rollout, label, progress).run(app, resume=resume)


@dataclass(slots=True)
class _Rollout:
    """One call of `grade`."""

    grader: Grader
    task: Task
    directory: RolloutDir
    label: str
    progress: Progress | None
    watch: Stopwatch = field(default_factory=Stopwatch)

    async def run(self, app: Path, *, resume: bool) -> RolloutRecord:
        before = self.directory.read_rollout() if resume else None
        book = RolloutRecorder(self.task, self.directory, self.label, before=before)
        await asyncio.to_thread(book.begin)
        try:
            records = await self._records(app, book, before)
        except GraderFault as fault:
            records = self._all_failed(PlanStatus.GRADER_FAILED, fault)
        return await asyncio.to_thread(book.finish, records, self.watch)

    async def _records(
        self, app: Path, book: RolloutRecorder, before: RolloutRecord | None
    ) -> dict[str, PlanRecord]:
        """The record of every plan.

        Raises:
            GraderFault: no plan could be graded, even on the second try.
        """
        self._tell("unpack", str(app))
        async with AsyncExitStack() as exits:
            found = await self._unpack(app, exits)
            await asyncio.to_thread(book.artifact, found)
            if found.rejected is not None:
                return self._all_failed(PlanStatus.SETUP_FAILED, found.rejected)
            records = self._kept(found, before)
            left = [plan for plan in self.task.plans if plan.id not in records]
            if not left:
                return records
            self._tell("setup", "running the app's set-up")
            try:
                prepared = await self._prepare(found)
            except AppSetupFailed as fault:
                return {**records, **self._all_failed(PlanStatus.SETUP_FAILED, fault, left)}
            except GraderFault as fault:
                return {**records, **self._all_failed(PlanStatus.GRADER_FAILED, fault, left)}
            try:
                book.setup(prepared.setup, found)
                return {**records, **await self._graded(prepared, left)}
            finally:
                with self.watch.phase("teardown"):
                    await close_shielded(prepared.close(), lambda _message: None)

    async def _unpack(self, app: Path, exits: AsyncExitStack) -> Unpacked:
        """The artifact's files, for as long as `exits` is open; our own failure is tried again."""

        def unpack() -> Awaitable[Unpacked]:
            return exits.enter_async_context(unpacked(app, self.grader.archive))

        with self.watch.phase("unpack"):
            return await self._tried(unpack)

    async def _prepare(self, found: Unpacked) -> PreparedApp:
        """Set up once; a grader's fault is tried once more.

        Raises:
            AppSetupFailed: the app's fault.
            GraderFault: ours, again.
        """
        log_path = self.directory.setup_log

        def prepare() -> Awaitable[PreparedApp]:
            return self.grader.stacks.prepare(found.app_dir, log_path=log_path)

        with self.watch.phase("setup"):
            return await self._tried(prepare)

    async def _tried[T](self, part: Callable[[], Awaitable[T]]) -> T:
        """Do a part of ours, again after a fault; what nobody foresaw is a fault, too.

        Raises:
            SubmissionFault, OperatorFault: as the part does.
            GraderFault: the last try failed.
        """
        tries_left = self.grader.config.retries
        while True:
            try:
                return await _faults_named(part())
            except GraderFault as fault:
                if not tries_left:
                    raise
                tries_left -= 1
                self._tell("retry", f"{fault.failure_kind}: {fault}")

    async def _graded(
        self, prepared: PreparedApp, plans: Iterable[TestPlan]
    ) -> dict[str, PlanRecord]:
        grader = self.grader
        bench = GradingContext(
            prepared=prepared,
            models=grader.models,
            browsers=grader.browsers,
            config=grader.config,
            now=grader.now,
            test_assets=self.task.test_assets,
            progress=self.progress,
        )
        with self.watch.phase("plans"):
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = {plan.id: group.create_task(self._one(bench, plan)) for plan in plans}
            except BaseExceptionGroup as group_fault:
                raise _first(group_fault) from None
        return {plan_id: task.result() for plan_id, task in tasks.items()}

    async def _one(self, bench: GradingContext, plan: TestPlan) -> PlanRecord:
        queued = time.monotonic()
        async with self.grader.limiter:
            queue_s = time.monotonic() - queued
            run = PlanRun(bench, plan, self.directory.plan(plan.id))
            return await run.run(queue_s=queue_s)

    def _kept(self, found: Unpacked, before: RolloutRecord | None) -> dict[str, PlanRecord]:
        """Plans that an earlier run of this rollout has measured for this very artifact."""
        digest = found.tree_sha256
        if before is None or digest is None or before.artifact_sha256 != digest:
            return {}
        kept = {}
        for plan in self.task.plans:
            if (record := finished_record(self.directory.plan(plan.id), plan)) is not None:
                kept[plan.id] = record
        return kept

    def _all_failed(
        self,
        status: PlanStatus,
        error: VibenchGymError,
        plans: Iterable[TestPlan] | None = None,
    ) -> dict[str, PlanRecord]:
        records = {}
        for plan in self.task.plans if plans is None else plans:
            records[plan.id] = failed_record(plan, status, error)
            store_plan(self.directory.plan(plan.id), plan, records[plan.id])
        return records

    def _tell(self, kind: ProgressKind, message: str) -> None:
        if self.progress is not None:
            self.progress(ProgressEvent(kind, None, None, message))


async def _faults_named[T](doing: Awaitable[T]) -> T:
    """Give a defect its name: it costs one artifact a mask, not the run.

    Raises:
        SubmissionFault, GraderFault, OperatorFault: as awaited.
        GraderFault: anything else was raised.
    """
    try:
        return await doing
    except (SubmissionFault, GraderFault, OperatorFault):
        raise
    except Exception as defect:
        _logger.exception("a defect of the grader")
        raise GraderFault(f"a defect of the grader: {defect!r}") from defect


def _first(group: BaseExceptionGroup) -> BaseException:
    """The fault to raise for a group: the operator's before any other."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        fault = pending.pop(0)
        if isinstance(fault, BaseExceptionGroup):
            pending += fault.exceptions
        else:
            leaves.append(fault)
    return next((fault for fault in leaves if isinstance(fault, OperatorFault)), leaves[0])
