# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The builtin grader on a shared host: set-ups and plans wait for one of the host's slots.

The wait is no part of a measured time: a slot is taken before a set-up or a plan starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ConfigError
from vibench_gym.grading.base import GraderKind
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.stack.kinds import stack_builder

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.core.config import ArchiveBudget, GraderConfig
    from vibench_gym.core.records import RolloutRecord
    from vibench_gym.core.rundir import RolloutDir
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.grading.base import GraderSettings, ModelsOf
    from vibench_gym.grading.context import BrowserLauncher
    from vibench_gym.stack.base import PreparedApp, StackBuilder


@dataclass(frozen=True, slots=True)
class QueuedStacks:
    """A StackBuilder whose set-ups wait for a slot of the host."""

    stacks: StackBuilder
    limiter: AbstractAsyncContextManager[object]

    async def prepare(self, app_dir: Path, *, log_path: Path | None = None) -> PreparedApp:
        """Set up, once there is a slot.

        Raises:
            AppSetupFailed: as the builder within.
            GraderFault: as the builder within.
        """
        async with self.limiter:
            return await self.stacks.prepare(app_dir, log_path=log_path)


@dataclass(frozen=True, slots=True)
class QueuedGrader:
    """Grades with real models, stacks and browsers."""

    models: ModelsOf
    stacks: StackBuilder
    limiter: AbstractAsyncContextManager[object]
    config: GraderConfig
    archive: ArchiveBudget
    browsers: BrowserLauncher
    model_stacks: StackBuilder | None = None
    """For apps that call a model; None: they are not graded here."""

    async def grade(
        self, task: Task, archive: Path, *, rollout: RolloutDir, label: str
    ) -> RolloutRecord:
        """Grade every plan that was not measured yet.

        Raises:
            OperatorFault: the operator has to act.
        """
        stacks = self.model_stacks if task.needs_app_model else self.stacks
        if stacks is None:
            # Without a model such an app fails for a reason that is not its own.
            raise ConfigError(f"no model is given to the app of {task.name}/{task.artifact}")
        async with self.models(task) as models:
            grader = Grader(
                stacks=QueuedStacks(stacks, self.limiter),
                models=models,
                browsers=self.browsers,
                config=self.config,
                archive=self.archive,
                limiter=self.limiter,
            )
            return await grader.grade(task, archive, rollout=rollout, label=label, resume=True)


def _builtin_grader(settings: GraderSettings) -> QueuedGrader:
    """The builtin grader over real stacks and browsers.

    Raises:
        ConfigError: no model is named for the graders.
        PrerequisiteMissing: this host lacks something.
    """
    models = settings.models()
    settings.check_host()
    browser = settings.browser.executable
    without_model = settings.stack.model_copy(update={"app_model": None})
    with_model = settings.stack.model_copy(update={"app_model": settings.app_model})
    return QueuedGrader(
        models=models,
        stacks=stack_builder(without_model, browser=browser),
        model_stacks=stack_builder(with_model, browser=browser) if settings.app_model else None,
        limiter=settings.limiter,
        config=settings.grading,
        archive=settings.archive,
        browsers=PlaywrightLauncher(settings.browser),
    )


BUILTIN: Final = GraderKind(name="builtin", make=_builtin_grader)
