# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every kind of grader is and is made from. `grading.kinds` registers the kinds there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.core.config import (
        AppModelConfig,
        ArchiveBudget,
        BrowserConfig,
        GraderConfig,
        GraderName,
        StackConfig,
        VibenchConfig,
    )
    from vibench_gym.core.records import RolloutRecord
    from vibench_gym.core.rundir import RolloutDir
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.grading.context import ModelSource

type ModelsOf = Callable[[Task], AbstractAsyncContextManager[ModelSource]]


class RolloutGrader(Protocol):
    """Grades an archive on a task into a folder, and resumes from what is there."""

    async def grade(
        self, task: Task, archive: Path, *, rollout: RolloutDir, label: str
    ) -> RolloutRecord:
        """Grade every plan that was not measured yet.

        Raises:
            OperatorFault: the operator has to act.
        """
        ...


@dataclass(frozen=True, slots=True)
class VibenchSettings:
    """What only ViBench's own graders need."""

    root: Path | None
    """The checkout."""
    python: Path | None
    """Interpreter of its scripts; the checkout's own, else ours, if None."""
    model: str
    """A preset of the checkout."""
    env_file: Path | None
    config: VibenchConfig


@dataclass(frozen=True, slots=True)
class GraderSettings:
    """What a grader is made from; each kind takes the part that it needs."""

    stack: StackConfig
    browser: BrowserConfig
    archive: ArchiveBudget
    grading: GraderConfig
    limiter: AbstractAsyncContextManager[object]
    app_model: AppModelConfig | None
    """The model for apps that call one while they are used."""
    models: Callable[[], ModelsOf]
    """The graders' models; raises ConfigError where none is named."""
    check_host: Callable[[], None]
    """Raises PrerequisiteMissing where this host lacks something that a stack needs."""
    vibench: VibenchSettings


@dataclass(frozen=True, slots=True)
class GraderKind:
    """One kind of grader, and what has to be known of it before one is made."""

    name: GraderName
    make: Callable[[GraderSettings], RolloutGrader]
    """Blocks; raises OperatorFault where the operator has to act."""
    sandbox_provider: str | None = None
    """Runs the app where the grader brings boxes of its own, by NeMo Gym's name for it."""

    @property
    def on_stack(self) -> bool:
        """Whether apps are graded on the configured stack."""
        return self.sandbox_provider is None
