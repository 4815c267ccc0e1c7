# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that act on one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from playwright.async_api import Error as PlaywrightError
from pydantic import Field, StringConstraints

from vibench_gym.browser.failures import ActionFailed, one_line
from vibench_gym.browser.page.snapshot import quoted
from vibench_gym.browser.tools.base import SHOWN_TEXT, Button, OnElement, Text

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

MAX_OPTIONS = 20
_READ_MS = 3_000
Modifier = Literal["Alt", "Control", "Meta", "Shift"]


class Click(OnElement):
    """Click an element."""

    tool_name = "click"
    may_close_page = True
    button: Button = "left"
    double: bool = False
    modifiers: tuple[Modifier, ...] = Field(default=(), max_length=4)

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Click or double-click it."""
        target = await pages.element(tab, self.ref)
        tab.file_chooser = None
        press = target.dblclick if self.double else target.click
        # Where a click leads to is waited for as a navigation, which may take longer than a click.
        await pages.act(
            tab,
            press(
                button=self.button,
                modifiers=list(self.modifiers),
                timeout=pages.timeout_ms,
                no_wait_after=True,
            ),
        )
        verb = "double-clicked" if self.double else "clicked"
        side = "" if self.button == "left" else f" with the {self.button} button"
        keys = f" holding {'+'.join(self.modifiers)}" if self.modifiers else ""
        return f"{verb} {pages.label(tab, self.ref)}{side}{keys}"


class Fill(OnElement):
    """Put text into a field at once, replacing what it held."""

    tool_name = "fill"
    text: Text

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Replace the field's text."""
        target = await pages.element(tab, self.ref)
        await pages.act(tab, target.fill(self.text, timeout=pages.timeout_ms))
        return f"filled {pages.label(tab, self.ref)} with {quoted(self.text, SHOWN_TEXT)}"


class Select(OnElement):
    """Choose options of a select box by label or value."""

    tool_name = "select"
    values: tuple[Annotated[str, StringConstraints(max_length=1000)], ...] = Field(
        min_length=1, max_length=50
    )

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Choose them; where there is none such, say which there are."""
        target = await pages.element(tab, self.ref)
        label = pages.label(tab, self.ref)
        try:
            chosen = await pages.act(
                tab, target.select_option(list(self.values), timeout=pages.timeout_ms / 4)
            )
        except PlaywrightError as error:
            if "not a <select>" in error.message:
                raise ActionFailed(
                    f"{label} is no select box: click it, then click the option"
                ) from None
            if "did not find some options" in error.message or "Timeout" in error.message:
                there = await _options(pages, tab, target)
                raise ActionFailed(
                    f"{label} has no such option that can be chosen; there are: {there}"
                ) from None
            raise
        values = ", ".join(quoted(value, 100) for value in chosen)
        return f"selected {values or 'nothing'} in {label}"


async def _options(pages: Pages, tab: Tab, target: Locator) -> str:
    options = target.locator("option")
    count = await pages.act(tab, options.count())
    texts = [
        await pages.act(tab, options.nth(index).text_content(timeout=_READ_MS))
        for index in range(min(count, MAX_OPTIONS))
    ]
    shown = ", ".join(quoted(one_line(text or "", 60), 80) for text in texts) or "none"
    return shown + (f" and {count - MAX_OPTIONS} more" if count > MAX_OPTIONS else "")


class Check(OnElement):
    """Tick or untick a check box, radio button or switch."""

    tool_name = "check"
    checked: bool = True

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Tick or untick it."""
        target = await pages.element(tab, self.ref)
        await pages.act(tab, target.set_checked(self.checked, timeout=pages.timeout_ms))
        return f"{'ticked' if self.checked else 'unticked'} {pages.label(tab, self.ref)}"


class Hover(OnElement):
    """Move the mouse over an element."""

    tool_name = "hover"

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Move the mouse there."""
        target = await pages.element(tab, self.ref)
        await pages.act(tab, target.hover(timeout=pages.timeout_ms))
        return f"moved the mouse over {pages.label(tab, self.ref)}"
