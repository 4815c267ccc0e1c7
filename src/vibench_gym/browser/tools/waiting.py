# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for something to be on the page, or to be gone."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import ActionFailed
from vibench_gym.browser.page.snapshot import quoted

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab
    from vibench_gym.browser.tools import arguments as args

POLL_S = 0.25
_SHOWN_TEXT = (
    "(() => { const body = Object.getOwnPropertyDescriptor(Document.prototype, 'body')"
    ".get.call(document); return body ? body.innerText.slice(0, 2000000) : ''; })()"
)


async def wait_for(pages: Pages, tab: Tab, call: args.WaitFor) -> str:
    """Wait for seconds, for text, for text to go: all that were asked for, in this order."""
    if call.text is None and call.gone is None and call.seconds is None:
        raise ActionFailed("say what to wait for: text, gone or seconds")
    done = []
    with pages.wait.waiting():
        if call.seconds is not None:
            seconds = min(call.seconds, pages.config.wait_max_s)
            await asyncio.sleep(seconds)
            done.append(f"waited {seconds:g} s")
        limit = min(call.timeout_s or pages.config.action_timeout_s, pages.config.wait_max_s)
        if call.text is not None:
            await _until(pages, tab, call.text, there=True, limit=limit)
            done.append(f"{quoted(call.text, 200)} is on the page")
        if call.gone is not None:
            await _until(pages, tab, call.gone, there=False, limit=limit)
            done.append(f"{quoted(call.gone, 200)} is not on the page")
    return "; ".join(done)


async def _until(pages: Pages, tab: Tab, text: str, *, there: bool, limit: float) -> None:
    wanted = " ".join(text.split())
    deadline = time.monotonic() + limit
    while True:
        current = pages.context_state.current or tab
        if await _shows(pages, current, wanted) == there:
            return
        if time.monotonic() >= deadline:
            still = "did not appear" if there else "is still there"
            raise ActionFailed(f"{quoted(text, 200)} {still} after {limit:g} s")
        await asyncio.sleep(POLL_S)


async def _shows(pages: Pages, tab: Tab, wanted: str) -> bool:
    """In what is displayed, or in what the snapshot says (values, frames, names)."""
    try:
        world = await tab.isolated()
        shown = await pages.act(tab, world.evaluate(_SHOWN_TEXT))
        if wanted in " ".join(str(shown).split()):
            return True
        snapshot = await pages.act(tab, tab.page.aria_snapshot(mode="ai"))
    except PlaywrightError:
        # Between two documents, neither here nor there.
        return False
    return wanted in " ".join(snapshot.split())
