# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of a browser: its start, its tool calls and its observations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from vibench_gym.core.tool import ToolSpec


@dataclass(frozen=True, slots=True)
class Observation:
    """What the grader itself saw after one tool call."""

    id: str
    """`obs-0007`; unique within a plan."""
    seq: int
    tool: str
    text: str
    """What the model is shown: result, page, dialogs, console errors, snapshot; already bounded."""
    is_error: bool = False
    """The call could not be carried out (no such element, time-out): a finding, not our fault."""
    url: str = ""
    title: str = ""
    context: str = ""
    tab: str = ""
    screenshot: Path | None = None
    show_screenshot: bool = False
    """Whether the model gets the picture, because it called the screenshot tool."""
    dialogs: tuple[str, ...] = ()
    waited_on_app_s: float = 0.0
    truncated: bool = False
    page_crashed: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrowserLaunch:
    """What one browser is started with: all that differs from plan to plan.

    What every browser shares is in `core.config.BrowserConfig`.
    """

    executable: Path
    """Chromium, or the program that starts it inside the app's zone."""
    base_url: str
    """The app; no address with another origin is opened."""
    screenshots_dir: Path
    downloads_dir: Path
    assets_dir: Path | None = None
    """The only files that may be uploaded."""
    trace_path: Path | None = None
    """Where the Playwright trace goes; None for no trace."""


class Browser(Protocol):
    """A browser driven by typed tools.

    Raises:
        BrowserFailed: Chromium or its driver is gone. The caller finds out whose fault it is.
    """

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools, for a model."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Carry out one tool call; bad arguments and missing elements give an error observation."""
        ...

    async def observe(self) -> Observation:
        """A fresh look at the current page without any action."""
        ...

    async def close(self) -> None:
        """Stop Chromium and its driver, save the trace; safe to call twice."""
        ...
