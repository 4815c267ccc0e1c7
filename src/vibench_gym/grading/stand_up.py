# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Stands an app up once, opens its first page and measures: can this machine grade it?

The steps are those of a rollout (unpack within budgets, set-up, snapshot, fresh stack, the QA
agent's browser), so an app that stands here can be graded here. A failure is reported with whose
fault it is. Nothing is scored.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from vibench_gym.browser.base import BrowserLaunch
from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.errors import BrowserFailed, GraderFault, SubmissionFault
from vibench_gym.grading.artifact import unpacked
from vibench_gym.grading.attribution import browser_works
from vibench_gym.grading.teardown import close_shielded, launch_shielded
from vibench_gym.stack.frameworks import frameworks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.browser.base import Browser, Observation
    from vibench_gym.grading.context import BrowserLauncher
    from vibench_gym.stack.base import PreparedApp, SetupReport, Stack, StackBuilder, StackUsage

_BLANK = "Snapshot:\n  (nothing is on the page)"


@dataclass(frozen=True, slots=True)
class FirstPage:
    """What the browser saw at `/`."""

    status: int | None
    """HTTP status of the document, after redirects."""
    title: str
    load_s: float
    """Until the page had settled."""
    console_errors: int
    blocked_hosts: tuple[str, ...] = ()
    """Hosts that the page asked for and that do not exist in its network."""
    screenshot: str | None = None


@dataclass(slots=True)
class StandUpResult:
    """How far an app came. What was not reached is None."""

    fault: Literal["app", "ours"] | None = None
    """Whose fault it is that it does not stand; None for an app that does."""
    message: str = ""
    frameworks: tuple[str, ...] = ()
    setup: SetupReport | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the stack's phases: `namespaces`, `files`, `database`, `app_start`."""
    usage: StackUsage | None = None
    """App and database, when the app had served its first document."""
    usage_with_browser: StackUsage | None = None
    page: FirstPage | None = None
    total_s: float = 0.0

    @property
    def stands(self) -> bool:
        """Whether it showed a page."""
        return self.fault is None and self.page is not None


@dataclass(frozen=True, slots=True)
class StandUp:
    """Stands apps up, one at a time; logs and pictures go below the folder of each."""

    stacks: StackBuilder
    browsers: BrowserLauncher
    budget: ArchiveBudget = field(default_factory=ArchiveBudget)

    async def __call__(self, app: Path, folder: Path) -> StandUpResult:
        """Stand one app (a folder or an archive) up and take it down again.

        Raises:
            OperatorFault: something is missing on this host.
        """
        standing = StandUpResult()
        started = time.monotonic()
        try:
            async with unpacked(app, self.budget) as artifact:
                if artifact.rejected is not None:
                    raise artifact.rejected
                standing.frameworks = await asyncio.to_thread(frameworks, artifact.app_dir)
                prepared = await self.stacks.prepare(
                    artifact.app_dir, log_path=folder / "setup.log"
                )
                try:
                    standing.setup = prepared.setup
                    await self._stand(prepared, folder, standing)
                finally:
                    await close_shielded(prepared.close())
        except SubmissionFault as fault:
            standing.fault, standing.message = "app", str(fault)
        except GraderFault as fault:
            standing.fault, standing.message = "ours", str(fault)
        standing.total_s = time.monotonic() - started
        return standing

    async def _stand(self, prepared: PreparedApp, folder: Path, standing: StandUpResult) -> None:
        failure: BrowserFailed | None = None
        async with prepared.stack(log_path=folder / "app.log") as stack:
            standing.timings = stack.timings
            standing.usage = await stack.usage()
            try:
                await self._look(stack, folder, standing)
            except BrowserFailed as error:
                failure = error
        if failure is None:
            return
        if not await browser_works(prepared, lambda other: self._launch(other, folder)):
            raise failure
        standing.fault, standing.message = "app", f"its first page ends the browser: {failure}"

    async def _look(self, stack: Stack, folder: Path, standing: StandUpResult) -> None:
        browser = await launch_shielded(self._launch(stack, folder))
        try:
            started = time.monotonic()
            seen = await browser.call("open", {"url": "/"})
            standing.page = _first_page(seen, time.monotonic() - started)
            standing.usage_with_browser = await stack.usage()
        finally:
            await close_shielded(browser.close())
        if seen.is_error or _BLANK in seen.text:
            standing.fault = "app"
            standing.message = f"its first page cannot be shown: {seen.text[:1000]}"

    async def _launch(self, stack: Stack, folder: Path) -> Browser:
        options = BrowserLaunch(
            executable=stack.browser_executable,
            base_url=stack.url,
            screenshots_dir=folder / "screenshots",
            downloads_dir=folder / "downloads",
        )
        return await self.browsers.launch(options)


def _first_page(seen: Observation, load_s: float) -> FirstPage:
    lines = seen.text.partition("\nSnapshot:")[0].splitlines()
    return FirstPage(
        status=seen.extra.get("http_status"),
        title=seen.title,
        load_s=load_s,
        console_errors=sum(line.startswith("Console: ") for line in lines),
        blocked_hosts=tuple(seen.extra.get("blocked_hosts", ())),
        screenshot=str(seen.screenshot) if seen.screenshot else None,
    )
