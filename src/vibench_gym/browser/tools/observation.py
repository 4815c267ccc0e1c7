# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that look and change nothing: a picture, the page again, one element in full."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError
from pydantic import Field

from vibench_gym.browser.page.observer import Look
from vibench_gym.browser.page.screenshots import FULL_PAGE_PIXELS
from vibench_gym.browser.page.snapshot import quoted
from vibench_gym.browser.tools.base import LookTool, OnElement, Ref

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

READ_CHARS = 8_000
ATTRIBUTE_CHARS = 300
_READ_MS = 3_000
_ATTRIBUTES = [
    "id",
    "class",
    "type",
    "name",
    "value",
    "placeholder",
    "href",
    "src",
    "alt",
    "title",
    "role",
    "for",
    "action",
    "method",
    "target",
    "rel",
    "download",
    "accept",
    "pattern",
    "min",
    "max",
    "step",
    "minlength",
    "maxlength",
    "rows",
    "cols",
    "required",
    "disabled",
    "readonly",
    "checked",
    "selected",
    "multiple",
    "hidden",
    "open",
    "lang",
    "dir",
    "style",
    "tabindex",
    "contenteditable",
    "draggable",
    "autocomplete",
    "autofocus",
    "datetime",
    "colspan",
    "rowspan",
    "width",
    "height",
    "data-testid",
    "data-id",
    "aria-label",
    "aria-labelledby",
    "aria-describedby",
    "aria-expanded",
    "aria-checked",
    "aria-selected",
    "aria-pressed",
    "aria-current",
    "aria-disabled",
    "aria-hidden",
    "aria-invalid",
    "aria-live",
    "aria-valuenow",
    "aria-valuemin",
    "aria-valuemax",
    "aria-sort",
    "aria-haspopup",
    "aria-controls",
]


class Screenshot(LookTool):
    """Look at the page as a picture."""

    tool_name = "screenshot"
    passive = True
    full_page: bool = False

    async def run(self, pages: Pages, tab: Tab) -> Look:
        """The observation that follows shows the picture to the model."""
        del pages, tab
        whole = f"the page, at most its first {FULL_PAGE_PIXELS} pixels"
        what = whole if self.full_page else "the visible part of the page"
        return Look(
            tool=self.tool_name,
            result=f"took a picture of {what}",
            show_screenshot=True,
            full_page=self.full_page,
        )


class Read(OnElement):
    """Read one element: text, value, attributes, state, position."""

    tool_name = "read"
    passive = True
    result_is_finding = True

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Everything we can tell about the element; only its text is required."""
        target = await pages.element(tab, self.ref)
        parts = [f"read {pages.label(tab, self.ref)}"]
        text, value, states, box, attributes = await pages.act(
            tab,
            asyncio.gather(
                target.inner_text(timeout=_READ_MS),
                _value(target),
                _states(target),
                target.bounding_box(timeout=_READ_MS),
                _attributes(target),
                return_exceptions=True,
            ),
        )
        if isinstance(text, BaseException):
            raise text
        parts.append(f"text: {quoted(text, READ_CHARS)}")
        if isinstance(value, str):
            parts.append(f"value: {quoted(value, READ_CHARS)}")
        if isinstance(states, list):
            parts.append(f"state: {', '.join(states)}")
        if isinstance(attributes, list) and attributes:
            parts.append(f"attributes: {' '.join(attributes)}")
        if isinstance(box, dict):
            x, y, width, height = (round(box[key]) for key in ("x", "y", "width", "height"))
            parts.append(f"box: x={x} y={y} width={width} height={height}")
        return "\n".join(parts)


class Snapshot(LookTool):
    """Look at the page again without doing anything."""

    tool_name = "snapshot"
    passive = True
    ref: Ref | None = Field(default=None, description="only this element, where the page is long")

    async def run(self, pages: Pages, tab: Tab) -> Look:
        """The observation that follows shows the page, or only the element."""
        if self.ref is None:
            return Look(tool=self.tool_name, result="looked at the page")
        await pages.element(tab, self.ref)
        looked = f"looked at {pages.label(tab, self.ref)}"
        return Look(tool=self.tool_name, result=looked, only=self.ref)


async def _value(target: Locator) -> str | None:
    try:
        return await target.input_value(timeout=_READ_MS)
    except PlaywrightError:
        return None


async def _states(target: Locator) -> list[str]:
    visible, enabled = await asyncio.gather(
        target.is_visible(timeout=_READ_MS), target.is_enabled(timeout=_READ_MS)
    )
    states = ["visible" if visible else "not visible", "enabled" if enabled else "disabled"]
    try:
        checked = await target.is_checked(timeout=_READ_MS)
    except PlaywrightError:
        return states
    return [*states, "checked" if checked else "not checked"]


async def _attributes(target: Locator) -> list[str]:
    values = await asyncio.gather(
        *(target.get_attribute(name, timeout=_READ_MS) for name in _ATTRIBUTES)
    )
    return [
        f"{name}={quoted(value, ATTRIBUTE_CHARS)}"
        for name, value in zip(_ATTRIBUTES, values, strict=True)
        if value is not None
    ]
