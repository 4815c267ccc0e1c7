# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A browser whose every observation is bounded, numbered, stored as evidence and marked as data.

Used by the QA agent and by the seeder. The time that a call waits for the app is kept apart from
the time that the browser itself takes: only the app's own slowness may fail a step.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Final

from vibench_gym.core.errors import BrowserFailed
from vibench_gym.core.tool import ToolResult
from vibench_gym.core.verdict import Evidence
from vibench_gym.grading.untrusted.text import RecordFlags, as_data, clip, one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from vibench_gym.browser.base import Browser, Observation
    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.grading.events import EventLog, Stopwatch

CALL_LIMIT_S: Final = 180.0
"""More than any tool waits by itself: a call that takes longer is a hung browser."""
PAGE_CHARS: Final = 40_000
"""Observations are bounded by the browser already; this is the second line."""


class RecordingBrowser:
    """Carries out browser calls and keeps what they showed.

    Raises:
        BrowserFailed: the browser is gone or hangs; the caller finds out whose fault that is.
    """

    def __init__(
        self, browser: Browser, *, log: EventLog, flags: RecordFlags, watch: Stopwatch
    ) -> None:
        self.browser = browser
        self._log = log
        self._flags = flags
        self._watch = watch
        self._evidence: list[Evidence] = []
        self.waited_on_app_s = 0.0
        self.crashes = 0
        """Observations of a page whose renderer was gone."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The browser's tools."""
        return self.browser.tools

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Everything captured so far, in order."""
        return tuple(self._evidence)

    def withheld(self, step: str, why: str) -> None:
        """Note that the judge's provider refused to read what a page showed."""
        self._log.add("error", step, error=f"pages were withheld from the judge: {why}")
        self._flags.add(f"page withheld from the judge in {step}")

    def flag(self, text: str) -> None:
        """Note what a reader of the record should know."""
        self._flags.add(text)

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, step: str, phase: str
    ) -> Observation:
        """Carry out one call of the agent's."""
        return await self._observed(self.browser.call(name, arguments), step, phase, arguments)

    async def observe(self, *, step: str, phase: str) -> Observation:
        """A fresh look without any action."""
        return await self._observed(self.browser.observe(), step, phase, {})

    def result(self, observation: Observation, note: str = "") -> ToolResult:
        """The tool result for the agent: marked page data, and the picture only if it asked."""
        shown = observation.screenshot if observation.show_screenshot else None
        text = as_data(observation.text, PAGE_CHARS)
        return ToolResult(
            text=f"{text}\n[end of page data {observation.id}]{note}",
            is_error=observation.is_error,
            images=(shown,) if shown is not None else (),
        )

    async def _observed(
        self,
        pending: Awaitable[Observation],
        step: str,
        phase: str,
        arguments: Mapping[str, Any],
    ) -> Observation:
        start = time.monotonic()
        try:
            async with asyncio.timeout(CALL_LIMIT_S):
                observation = await pending
        except TimeoutError:
            raise BrowserFailed(f"the browser did not answer in {CALL_LIMIT_S:.0f} s") from None
        finally:
            spent = time.monotonic() - start
            self._watch.add(phase, spent)
        waited = min(max(0.0, observation.waited_on_app_s), spent)
        self.waited_on_app_s += waited
        self._watch.add(phase, -waited)
        self._watch.add("app_wait", waited)
        self._keep(observation, step, arguments)
        return observation

    def _keep(self, observation: Observation, step: str, arguments: Mapping[str, Any]) -> None:
        shot = observation.screenshot.name if observation.screenshot is not None else None
        self._evidence.append(
            Evidence(
                id=observation.id,
                seq=observation.seq,
                step=step,
                tool=observation.tool,
                summary=one_line(observation.text),
                screenshot=shot,
            )
        )
        self._log.add(
            "observation",
            step,
            id=observation.id,
            tool=observation.tool,
            arguments=clip(json.dumps(dict(arguments), ensure_ascii=False, default=repr), 1000),
            is_error=observation.is_error,
            url=observation.url[:500],
            screenshot=shot,
            waited_on_app_s=round(observation.waited_on_app_s, 3),
            text=clip(observation.text, 4000),
        )
        if observation.page_crashed:
            self.crashes += 1
            self._flags.add(f"page crashed in {step}")
        if observation.truncated:
            self._flags.add(f"page cut to its limit in {step}")
        for flag in self._flags.scan(observation.text, step):
            self._log.add("flag", step, flag=flag, observation=observation.id)
