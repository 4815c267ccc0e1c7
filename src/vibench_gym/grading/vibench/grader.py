# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The vibench grader: runs ViBench's own scripts; records and scores are the builtin grader's."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from vibench_gym.core.errors import GraderFault, SubmissionFault
from vibench_gym.core.fault_boundary import fault_boundary
from vibench_gym.core.shown_log import shown_logger
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.artifact import Unpacked, unpacked
from vibench_gym.grading.events import Stopwatch
from vibench_gym.grading.plan.files import failed_record, reset_plan, store_plan
from vibench_gym.grading.rollout_recorder import RolloutRecorder, earlier_record
from vibench_gym.grading.teardown import close_shielded, to_the_end
from vibench_gym.grading.untrusted.text import clip
from vibench_gym.grading.vibench.plan import PlanContext, VibenchPlanRun
from vibench_gym.grading.vibench.staging import stage_app
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.core.config import ArchiveBudget, VibenchConfig
    from vibench_gym.core.records import PlanRecord, RolloutRecord
    from vibench_gym.core.rundir import RolloutDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.grading.vibench.checkout import Checkout, DockerHost
    from vibench_gym.grading.vibench.environment import GraderEnvironment
    from vibench_gym.stack.base import StackBuilder

_logger = shown_logger(__name__)


@dataclass(frozen=True, slots=True)
class VibenchGrader:
    """Grades artifacts; plans of all its rollouts share one limiter, entered once per plan."""

    checkout: Checkout
    host: DockerHost
    environment: GraderEnvironment
    config: VibenchConfig
    archive: ArchiveBudget
    limiter: AbstractAsyncContextManager[object]
    control: StackBuilder | None = None
    """Stands an app up by itself when the scripts fail; without it their failures all mask."""
    app_key: Callable[[Task], str | None] = lambda _task: None
    """The key of a model for the app itself, where a task needs one."""

    async def grade(
        self, task: Task, archive: Path, *, rollout: RolloutDir, label: str
    ) -> RolloutRecord:
        """Grade every plan that was not measured in this folder before, for the same artifact.

        Raises:
            OperatorFault: the operator has to act.
        """
        before = earlier_record(rollout)
        recorder = RolloutRecorder(task, rollout, label, "vibench", before=before)
        grading = _Rollout(self, task, rollout, recorder)
        return await recorder.follow(lambda: grading.records(archive), grading.watch)


@dataclass(slots=True)
class _Rollout:
    """The plans of one call of `grade`."""

    grader: VibenchGrader
    task: Task
    directory: RolloutDir
    recorder: RolloutRecorder
    watch: Stopwatch = field(default_factory=Stopwatch)

    async def records(self, archive: Path) -> dict[str, PlanRecord]:
        """The record of every plan.

        Raises:
            GraderFault: no plan could be graded.
        """
        recorder = self.recorder
        async with unpacked(archive, self.grader.archive) as artifact:
            await asyncio.to_thread(recorder.artifact, artifact)
            if artifact.rejected is not None:
                return await recorder.fail_plans(
                    PlanStatus.SETUP_FAILED, artifact.rejected, self.task.plans
                )
            records = recorder.measured_before(artifact)
            left = [plan for plan in self.task.plans if plan.id not in records]
            if left:
                with self.watch.phase("plans"):
                    records |= await self._graded(artifact, left)
            return records

    async def _graded(self, artifact: Unpacked, plans: list[TestPlan]) -> dict[str, PlanRecord]:
        grader = self.grader
        work = await asyncio.to_thread(WorkFolder, "vibench-app")
        # The control has no model to give: an app that wants one would fail it for our reason.
        stacks = None if self.task.needs_app_model else grader.control
        control = StackControl(stacks, artifact.app_dir)
        try:
            staged = work.path / "app"
            dropped = await asyncio.to_thread(stage_app, artifact.app_dir, staged, grader.archive)
            dropped = (*artifact.dropped, *dropped)
            context = PlanContext(
                checkout=grader.checkout,
                host=grader.host,
                environment=grader.environment.for_app(grader.app_key(self.task)),
                config=grader.config,
                archive=grader.archive,
                app=staged,
                test_assets=self.task.test_assets,
                control=control,
            )
            async with asyncio.TaskGroup() as group:
                tasks = {
                    plan.id: group.create_task(self._one(context, plan, dropped)) for plan in plans
                }
            return {plan_id: task.result() for plan_id, task in tasks.items()}
        except SubmissionFault as fault:
            return await self.recorder.fail_plans(PlanStatus.SETUP_FAILED, fault, plans)
        finally:
            await close_shielded(asyncio.to_thread(work.remove))

    async def _one(
        self, context: PlanContext, plan: TestPlan, dropped: tuple[str, ...]
    ) -> PlanRecord:
        directory = self.directory.plan(plan.id)
        queued = time.monotonic()
        async with self.grader.limiter:
            await asyncio.to_thread(reset_plan, directory, plan)
            run = VibenchPlanRun(context, plan, directory)
            if dropped:
                run.flags.add(clip(f"left out of the app: {', '.join(dropped)}", 200))
            clean = context.environment.clean
            try:
                # The plan turns every fault of the tree into its record: none may come out.
                with fault_boundary(f"plan {plan.id}", foreseen=(), clean=clean):
                    record = await run.run(queue_s=time.monotonic() - queued)
            except GraderFault as defect:
                record = failed_record(plan, PlanStatus.GRADER_FAILED, defect)
            await to_the_end(partial(store_plan, directory, plan, record))
            return record


class StackControl:
    """The control experiment: the app on a stack of ours, at most once per artifact."""

    def __init__(self, stacks: StackBuilder | None, app: Path) -> None:
        self._stacks = stacks
        self._app = app
        self._lock = asyncio.Lock()
        self._asked = False
        self._found: SubmissionFault | None = None

    async def check(self) -> None:
        """Set the app up and start it.

        A control that cannot be carried out says nothing about the app.

        Raises:
            AppSetupFailed: it does not stand up.
            AppStartFailed: it does not stand up.
        """
        async with self._lock:
            if not self._asked and self._stacks is not None:
                try:
                    await self._ask(self._stacks)
                except SubmissionFault as fault:
                    self._found = fault
                except GraderFault as fault:
                    _logger.warning("no control of the app: %s", fault)
                self._asked = True
        if self._found is not None:
            raise self._found

    async def _ask(self, stacks: StackBuilder) -> None:
        prepared = await stacks.prepare(self._app)
        try:
            async with prepared.stack():
                pass
        finally:
            await close_shielded(prepared.close())
