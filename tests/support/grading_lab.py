# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A grader with nothing real beneath it, and what it left on disk."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.grading import (
    FakeBrowsers,
    FakeModels,
    agent,
    make_app,
    make_task,
    passing,
)
from vibench_gym.core.config import GraderConfig
from vibench_gym.core.rundir import RolloutDir, RunDir
from vibench_gym.grading.grader import Grader
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from vibench_gym.core.records import PlanRecord, RolloutRecord
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.grading.events import ProgressEvent
    from vibench_gym.llm.base import ChatModel

FAST = GraderConfig(second_look_wait_s=0.0)


@dataclass
class Lab:
    """One grader over fakes, and what it left behind."""

    root: Path
    stacks: FakeStackBuilder = field(default_factory=FakeStackBuilder)
    browsers: FakeBrowsers = field(default_factory=FakeBrowsers)
    models: FakeModels = field(
        default_factory=lambda: FakeModels(qa=lambda plan: agent(passing(plan)))
    )
    config: GraderConfig = FAST
    progress: list[ProgressEvent] = field(default_factory=list)
    directory: RolloutDir | None = None
    now: Callable[[], float] = time.time

    def agents(self, *models: ChatModel) -> None:
        """QA agents for the attempts to come, in order."""
        queue = list(models)
        self.models.qa = lambda _plan: queue.pop(0)

    def seeders(self, *models: ChatModel) -> None:
        """Seeders for the attempts to come, in order."""
        queue = list(models)
        self.models.seeder = lambda _plan: queue.pop(0)

    def grader(self) -> Grader:
        """A grader over this lab's fakes."""
        return Grader(
            stacks=self.stacks,
            models=self.models,
            browsers=self.browsers,
            config=self.config,
            now=self.now,
        )

    async def grade(
        self, task: Task | None = None, *, app: Path | None = None, resume: bool = False
    ) -> RolloutRecord:
        """Grade a task, always into the same folder."""
        task = task or make_task()
        if self.directory is None:
            self.directory = RunDir(self.root / "run").rollout(task, "label")
        return await self.grader().grade(
            task,
            app if app is not None else make_app(self.root / "app"),
            rollout=self.directory,
            label="label",
            progress=self.progress.append,
            resume=resume,
        )

    def plan(self, plan_id: str = "mvp-test1") -> PlanRecord:
        """The stored record of a plan."""
        record = self.directory.plan(plan_id).read_record() if self.directory else None
        if record is None:
            raise AssertionError(f"{plan_id} has no record")
        return record

    async def grade_plan(self, plan: TestPlan) -> PlanRecord:
        """Grade a task of one plan; the plan's stored record."""
        await self.grade(make_task(plan))
        return self.plan(plan.id)
