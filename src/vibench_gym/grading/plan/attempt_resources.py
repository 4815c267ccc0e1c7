# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Opens stacks, browsers and models for one attempt at a plan, and measures them.

What is opened here is closed by the exit stack it was opened on, or by the block it is used in.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from vibench_gym.browser.base import BrowserLaunch
from vibench_gym.grading.context import GradingContext, PeakMemory
from vibench_gym.grading.events import EventLog, ProgressEvent, ProgressKind, Stopwatch
from vibench_gym.grading.metered_model import MeteredModel, ModelRole
from vibench_gym.grading.recording_browser import RecordingBrowser
from vibench_gym.grading.teardown import close_shielded, launch_shielded
from vibench_gym.grading.untrusted.text import RecordFlags
from vibench_gym.grading.wall_clock import WallClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from vibench_gym.browser.base import Browser
    from vibench_gym.core.rundir import PlanDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.stack.base import Stack


class AttemptResources:
    """Opens what an attempt needs, and keeps what it measured.

    Raises:
        AppStartFailed, AppSetupFailed: from `stand_up`, the app's fault.
        GraderFault, OperatorFault: as the parts raise them.
    """

    def __init__(
        self,
        context: GradingContext,
        plan: TestPlan,
        directory: PlanDir,
        *,
        log: EventLog,
        watch: Stopwatch,
    ) -> None:
        self.context = context
        self.plan = plan
        self.directory = directory
        self.log = log
        self.watch = watch
        self.flags = RecordFlags()
        self.memory = PeakMemory()
        self.clock = WallClock(context.now)
        self.models: list[MeteredModel] = []

    async def stand_up(
        self, exits: contextlib.AsyncExitStack, watch: Stopwatch | None = None
    ) -> Stack:
        """A fresh stack; its phases count as the plan's unless another watch is given."""
        stack = self.context.prepared.stack(log_path=self.directory.app_log)
        try:
            await exits.enter_async_context(stack)
        finally:
            (watch or self.watch).merge(stack.timings)
        await exits.enter_async_context(self.memory.watching(stack))
        return stack

    async def open_browser(
        self, exits: contextlib.AsyncExitStack, stack: Stack, *, seeding: bool = False
    ) -> RecordingBrowser:
        """A browser on the stack. Only the test's own keeps a trace and the plan's screenshots."""
        directory = self.directory
        with self.watch.phase("browser_start"):
            options = BrowserLaunch(
                executable=stack.browser_executable,
                base_url=stack.url,
                screenshots_dir=_made(directory.path / "seeding", directory.screenshots, seeding),
                downloads_dir=_made(directory.path / "seeding", directory.downloads, seeding),
                assets_dir=self.context.test_assets,
                trace_path=None if seeding else directory.trace,
            )
            browser = await launch_shielded(self.context.browsers.launch(options))
        exits.push_async_callback(browser.close)
        return RecordingBrowser(browser, log=self.log, flags=self.flags, watch=self.watch)

    async def control_browser(self, stack: Stack) -> Browser:
        """A browser for a control experiment; nothing of it is kept with the plan's evidence."""
        folder = self.directory.path / "control"
        folder.mkdir(parents=True, exist_ok=True)
        options = BrowserLaunch(
            executable=stack.browser_executable,
            base_url=stack.url,
            screenshots_dir=folder,
            downloads_dir=folder,
        )
        return await launch_shielded(self.context.browsers.launch(options))

    @contextlib.asynccontextmanager
    async def model(
        self, role: ModelRole, on_turn: Callable[[], None] | None = None
    ) -> AsyncIterator[MeteredModel]:
        """The role's model, metered; released when the block ends."""
        model = MeteredModel(
            self.context.models.model(self.plan, role), role, log=self.log, on_turn=on_turn
        )
        self.models.append(model)
        try:
            yield model
        finally:
            self.watch.add("qa_model" if role == "qa" else "seeding_model", model.seconds)
            await close_shielded(model.aclose(), self.note_error)

    def note_error(self, message: str) -> None:
        """Keep an error that changes no verdict."""
        self.log.add("error", error=message)

    def tell(self, kind: ProgressKind, message: str, step: str | None = None) -> None:
        """Note a phase, and report it as progress."""
        self.log.add("phase", step, name=kind, message=message)
        self.context.tell(ProgressEvent(kind, self.plan.id, step, message))


def _made(seeding_folder: Path, folder: Path, seeding: bool) -> Path:
    chosen = seeding_folder if seeding else folder
    chosen.mkdir(parents=True, exist_ok=True)
    return chosen
