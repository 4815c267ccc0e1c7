# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The keyboard: typing with real key strokes, and single keys."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

from playwright.async_api import Error as PlaywrightError
from pydantic import Field, StringConstraints

from vibench_gym.browser.failures import ActionFailed
from vibench_gym.browser.page.snapshot import quoted
from vibench_gym.browser.tools.base import SHOWN_TEXT, PageTool, Ref

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

KEY_DELAY_MS = 10.0
TYPING_MAX_S = 10.0
_LET_GO = """(() => {
  Document.prototype.exitPointerLock.call(document);
  Document.prototype.exitFullscreen.call(document).catch(() => {});
})()"""
"""What a browser does at Escape, whatever the page does: a key that is sent to a page passes the
browser by."""


class Type(PageTool):
    """Type text with real key strokes, into an element or wherever the focus is."""

    tool_name = "type"
    may_close_page = True
    text: Annotated[str, StringConstraints(max_length=5_000)]
    ref: Ref | None = None
    element: str | None = Field(default=None, max_length=400)
    submit: bool = Field(default=False, description="press Enter afterwards")

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Type; a field that does not have the focus is clicked first."""
        where = "where the focus is"
        if self.ref is not None:
            target = await pages.element(tab, self.ref)
            where = f"into {pages.label(tab, self.ref)}"
            if tab.snapshot.focused == self.ref:
                # Already focused: a click would move the caret.
                await pages.act(tab, target.focus(timeout=pages.timeout_ms))
            else:
                await pages.act(tab, target.click(timeout=pages.timeout_ms))
                await pages.settler.after(tab)
        delay = min(KEY_DELAY_MS, TYPING_MAX_S * 1000 / max(1, len(self.text)))
        keyboard = tab.page.keyboard
        await pages.act(
            tab, keyboard.type(self.text, delay=delay), TYPING_MAX_S + pages.config.action_timeout_s
        )
        if self.submit:
            await pages.settler.after(tab)
            await pages.act(tab, keyboard.press("Enter"))
        enter = " and pressed Enter" if self.submit else ""
        return f"typed {quoted(self.text, SHOWN_TEXT)} {where}{enter}"


class Press(PageTool):
    """Press one key or chord, for example Enter, Escape, ArrowDown, Control+a."""

    tool_name = "press"
    may_close_page = True
    key: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    ref: Ref | None = None
    element: str | None = Field(default=None, max_length=400)

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Press it in an element, else where the focus is."""
        where = ""
        if self.ref is not None:
            target = await pages.element(tab, self.ref)
            where = f" in {pages.label(tab, self.ref)}"
            pressing = target.press(self.key, timeout=pages.timeout_ms)
        else:
            pressing = tab.page.keyboard.press(self.key)
        try:
            await pages.act(tab, pressing)
        except PlaywrightError as error:
            if "Unknown key" not in error.message:
                raise
            raise ActionFailed(
                f"{self.key!r} is no key: use names such as Enter, Escape, Tab, ArrowDown, a, "
                "or chords such as Control+a"
            ) from None
        if self.key == "Escape":
            with contextlib.suppress(PlaywrightError):  # the page may be gone
                await pages.act(tab, (await tab.isolated()).evaluate(_LET_GO))
        return f"pressed {self.key}{where}"
