# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for something to be on the page, or to be gone."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError
from pydantic import Field

from vibench_gym.browser.failures import ActionFailed
from vibench_gym.browser.page.document import read_raw, size_of
from vibench_gym.browser.page.folding import FOLDED_TIMEOUT_S
from vibench_gym.browser.page.snapshot import quoted
from vibench_gym.browser.tools.base import PageTool

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

POLL_S = 0.25
_SEARCH_S = 20.0
# Looked for in the page, however long that is: only the answer is sent.
_HAS_WORDS = """(words => {
  const get = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const shown = get("body")?.innerText ?? "";
  return shown.includes(words) || shown.split(/\\s+/).join(" ").includes(words);
})"""


class WaitFor(PageTool):
    """Wait until text appears, until text is gone, or for some seconds."""

    tool_name = "wait_for"
    text: str | None = Field(default=None, min_length=1, max_length=1000)
    gone: str | None = Field(default=None, min_length=1, max_length=1000)
    seconds: float | None = Field(default=None, ge=0, le=600, allow_inf_nan=False)
    timeout_s: float | None = Field(default=None, gt=0, le=600, allow_inf_nan=False)

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Wait for seconds, for text, for text to go: all that were asked for, in this order."""
        if self.text is None and self.gone is None and self.seconds is None:
            raise ActionFailed("say what to wait for: text, gone or seconds")
        done = []
        with pages.wait.waiting():
            if self.seconds is not None:
                seconds = min(self.seconds, pages.config.wait_max_s)
                await asyncio.sleep(seconds)
                done.append(f"waited {seconds:g} s")
            limit = min(self.timeout_s or pages.config.action_timeout_s, pages.config.wait_max_s)
            if self.text is not None:
                await _until(pages, tab, self.text, there=True, limit=limit)
                done.append(f"{quoted(self.text, 200)} is on the page")
            if self.gone is not None:
                await _until(pages, tab, self.gone, there=False, limit=limit)
                done.append(f"{quoted(self.gone, 200)} is not on the page")
        return "; ".join(done)


async def _until(pages: Pages, tab: Tab, text: str, *, there: bool, limit: float) -> None:
    words = " ".join(text.split())
    deadline = time.monotonic() + limit
    while True:
        current = pages.context_state.current or tab
        if await _shows(pages, current, words) == there:
            return
        if time.monotonic() >= deadline:
            still = "did not appear" if there else "is still there"
            raise ActionFailed(f"{quoted(text, 200)} {still} after {limit:g} s")
        await asyncio.sleep(POLL_S)


async def _shows(pages: Pages, tab: Tab, words: str) -> bool:
    """In what is displayed, or in what the snapshot says (values, frames, names)."""
    try:
        world = await tab.isolated()
        if await pages.act(tab, world.call(_HAS_WORDS, words), _SEARCH_S):
            return True
        size = await pages.act(tab, size_of(tab, pages.config))
        snapshot = await pages.act(tab, read_raw(tab, size), FOLDED_TIMEOUT_S)
    except PlaywrightError:
        # Between two documents, neither here nor there.
        return False
    return words in " ".join(snapshot.split())
