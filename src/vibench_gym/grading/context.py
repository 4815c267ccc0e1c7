# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every plan of one artifact is graded with, and the contracts of the exchangeable parts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from vibench_gym.core.errors import GraderFault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.browser.base import Browser, BrowserLaunch
    from vibench_gym.core.config import GraderConfig
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.grading.events import Progress, ProgressEvent
    from vibench_gym.llm.base import ChatModel
    from vibench_gym.stack.base import PreparedApp, Stack

_SAMPLE_S: Final = 2.0


class ModelSource(Protocol):
    """Gives the model of a role; the caller closes it."""

    def model(self, plan: TestPlan, role: Literal["qa", "seeder"]) -> ChatModel:
        """The model that plays this role for this plan.

        Raises:
            OperatorFault: there is none.
        """
        ...


class BrowserLauncher(Protocol):
    """Starts a browser from a program that a stack names."""

    async def launch(self, options: BrowserLaunch) -> Browser:
        """A fresh browser on an empty page.

        Raises:
            BrowserFailed: it did not start.
            PrerequisiteMissing: there is no browser on this host.
        """
        ...


@dataclass(frozen=True, slots=True)
class GradingContext:
    """One prepared artifact with everything its plans are graded with."""

    prepared: PreparedApp
    models: ModelSource
    browsers: BrowserLauncher
    config: GraderConfig
    limiter: AbstractAsyncContextManager[object]
    """Entered once per plan: how many plans run at the same time."""
    test_assets: Path | None = None
    progress: Progress | None = None
    now: Callable[[], float] = time.time
    hint: str = ""
    """What the failure of an app that does not stand ends with (`grading.artifact`)."""

    def tell(self, event: ProgressEvent) -> None:
        """Pass a progress event on."""
        if self.progress is not None:
            self.progress(event)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The files that may be uploaded, relative to the test assets' folder."""
        if self.test_assets is None:
            return ()
        files = (path for path in self.test_assets.rglob("*") if path.is_file())
        return tuple(sorted(path.relative_to(self.test_assets).as_posix() for path in files))


class PeakMemory:
    """The most memory that any of a plan's stacks used, sampled while they stand."""

    def __init__(self) -> None:
        self.bytes = 0

    @contextlib.asynccontextmanager
    async def watching(self, stack: Stack) -> AsyncIterator[None]:
        """Sample until the block ends; a sample that fails is left out."""
        task = asyncio.create_task(self._sample_for_ever(stack))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _sample_for_ever(self, stack: Stack) -> None:
        while True:
            with contextlib.suppress(GraderFault):
                self.bytes = max(self.bytes, (await stack.usage()).memory_bytes)
            await asyncio.sleep(_SAMPLE_S)
