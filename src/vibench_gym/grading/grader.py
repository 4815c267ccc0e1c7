# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The builtin grader: grades an artifact on a task and returns the rollout's record.

It unpacks within budgets, runs set-up once, grades every plan from the snapshot, and scores.
Results are written as they come. The artifact can only lower its own score. A fault of ours is
tried once more, then it masks. A fault that the operator has to mend ends the run.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from vibench_gym.core.config import ArchiveBudget, GraderConfig
from vibench_gym.core.errors import AppSetupFailed, GraderFault, OperatorFault
from vibench_gym.core.fault_boundary import fault_boundary
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.artifact import Unpacked, unpacked
from vibench_gym.grading.context import BrowserLauncher, GradingContext, ModelSource
from vibench_gym.grading.events import Progress, ProgressEvent, ProgressKind, Stopwatch
from vibench_gym.grading.plan.run import PlanRun
from vibench_gym.grading.rollout_recorder import RolloutRecorder, earlier_record
from vibench_gym.grading.teardown import close_shielded, to_the_end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.core.records import PlanRecord, RolloutRecord
    from vibench_gym.core.rundir import RolloutDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.stack.base import PreparedApp, StackBuilder

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
        before = earlier_record(rollout) if resume else None
        recorder = RolloutRecorder(task, rollout, label, before=before)
        grading = _Rollout(self, task, rollout, recorder, progress)
        return await recorder.follow(lambda: grading.records(app), grading.watch)


@dataclass(slots=True)
class _Rollout:
    """The plans of one call of `grade`."""

    grader: Grader
    task: Task
    directory: RolloutDir
    recorder: RolloutRecorder
    progress: Progress | None
    watch: Stopwatch = field(default_factory=Stopwatch)

    async def records(self, app: Path) -> dict[str, PlanRecord]:
        """The record of every plan.

        Raises:
            GraderFault: no plan could be graded, even on the second try.
        """
        recorder = self.recorder
        self._tell("unpack", str(app))
        async with AsyncExitStack() as exits:
            artifact = await self._unpack(app, exits)
            await asyncio.to_thread(recorder.artifact, artifact)
            if artifact.rejected is not None:
                return await recorder.fail_plans(
                    PlanStatus.SETUP_FAILED, artifact.rejected, self.task.plans
                )
            kept = recorder.measured_before(artifact)
            left = [plan for plan in self.task.plans if plan.id not in kept]
            if not left:
                return kept
            self._tell("setup", "running the app's set-up")
            try:
                prepared = await self._prepare(artifact)
            except AppSetupFailed as fault:
                failed = AppSetupFailed(f"{fault}{artifact.hint}")
                return kept | await recorder.fail_plans(PlanStatus.SETUP_FAILED, failed, left)
            except GraderFault as fault:
                return kept | await recorder.fail_plans(PlanStatus.GRADER_FAILED, fault, left)
            try:
                await to_the_end(partial(recorder.setup, prepared.setup, artifact))
                return kept | await self._graded(prepared, left, artifact.hint)
            finally:
                with self.watch.phase("teardown"):
                    await close_shielded(prepared.close())

    async def _unpack(self, app: Path, exits: AsyncExitStack) -> Unpacked:
        """The artifact's files, for as long as `exits` is open; our own failure is tried again."""

        def unpack() -> Awaitable[Unpacked]:
            return exits.enter_async_context(unpacked(app, self.grader.archive))

        with self.watch.phase("unpack"):
            return await self._tried("unpacking", unpack)

    async def _prepare(self, artifact: Unpacked) -> PreparedApp:
        """Set up once; a grader's fault is tried once more.

        Raises:
            AppSetupFailed: the app's fault.
            GraderFault: ours, again.
        """
        log_path = self.directory.setup_log

        def prepare() -> Awaitable[PreparedApp]:
            return self.grader.stacks.prepare(artifact.app_dir, log_path=log_path)

        with self.watch.phase("setup"):
            return await self._tried("set-up", prepare)

    async def _tried[T](self, doing: str, part: Callable[[], Awaitable[T]]) -> T:
        """Do a part of ours, again after a grader's fault.

        Raises:
            SubmissionFault, OperatorFault: as the part does.
            GraderFault: the last try failed.
        """
        tries_left = self.grader.config.retries
        while True:
            try:
                with fault_boundary(doing):
                    return await part()
            except GraderFault as fault:
                if not tries_left:
                    raise
                tries_left -= 1
                self._tell("retry", f"{fault.failure_kind}: {fault}")

    async def _graded(
        self, prepared: PreparedApp, plans: Iterable[TestPlan], hint: str
    ) -> dict[str, PlanRecord]:
        grader = self.grader
        context = GradingContext(
            prepared=prepared,
            models=grader.models,
            browsers=grader.browsers,
            config=grader.config,
            limiter=grader.limiter,
            now=grader.now,
            test_assets=self.task.test_assets,
            progress=self.progress,
            hint=hint,
        )
        runs = {plan.id: PlanRun(context, plan, self.directory.plan(plan.id)) for plan in plans}
        with self.watch.phase("plans"):
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = {plan_id: group.create_task(run.run()) for plan_id, run in runs.items()}
            except BaseExceptionGroup as group_fault:
                raise _first(group_fault) from None
        return {plan_id: task.result() for plan_id, task in tasks.items()}

    def _tell(self, kind: ProgressKind, message: str) -> None:
        if self.progress is not None:
            self.progress(ProgressEvent(kind, None, None, message))


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
