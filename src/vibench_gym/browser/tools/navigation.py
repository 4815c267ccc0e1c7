# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses and history of the current tab."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout
from pydantic import Field

from vibench_gym.browser.failures import ActionFailed, PageUnresponsive
from vibench_gym.browser.tools.base import AnyPageTool, Url

if TYPE_CHECKING:
    from playwright.async_api import Response

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

_ATTEMPTS = 2


class Open(AnyPageTool):
    """Open an address of the app in the current tab."""

    tool_name = "open"
    url: Url = Field(description="a path such as /items, or a whole address of the app")

    async def run(self, pages: Pages) -> str:
        """Open it; a tab that crashed or hangs is made anew."""
        return await go_to(pages, pages.resolve(self.url))


async def go_to(pages: Pages, url: str) -> str:
    """Open a resolved address in the current tab, which is made anew if it crashed or hangs."""
    tab = await _alive(pages)
    try:
        response = await _goto(pages, tab, url)
    except PlaywrightTimeout:
        limit = f"{pages.config.navigation_timeout_s:g} s"
        raise ActionFailed(f"could not open {url[:300]}: not loaded after {limit}") from None
    except PlaywrightError as error:
        if "Download is starting" in error.message:
            return f"opened {url[:300]}: it is a download"
        raise
    return f"opened {url[:300]}{_status(response)}"


async def _goto(pages: Pages, tab: Tab, url: str) -> Response | None:
    """Navigate; a page that keeps sending its visitor elsewhere loses its tab."""
    for attempt in range(_ATTEMPTS):
        try:
            return await pages.act(
                tab,
                tab.page.goto(url, wait_until="domcontentloaded", timeout=_navigation_ms(pages)),
                pages.config.navigation_timeout_s,
            )
        except PlaywrightError as error:
            if "interrupted by another navigation" not in error.message or attempt:
                raise
            tab = await pages.replace_tab(tab)
    return None


async def _alive(pages: Pages) -> Tab:
    tab = await pages.current()
    if not tab.crashed:
        # A page that hung may have come to itself, and its history is worth keeping.
        with contextlib.suppress(PageUnresponsive):
            await pages.settler.responds(tab)
            return tab
    return await pages.replace_tab(tab)


def _status(response: Response | None) -> str:
    if response is None or response.ok:
        return ""
    return f" (HTTP {response.status})"


def _navigation_ms(pages: Pages) -> float:
    return pages.config.navigation_timeout_s * 1000


class Back(AnyPageTool):
    """Go back in the history of the current tab."""

    tool_name = "back"

    async def run(self, pages: Pages) -> str:
        """Go back."""
        return await _history(pages, -1)


class Forward(AnyPageTool):
    """Go forward in the history of the current tab."""

    tool_name = "forward"

    async def run(self, pages: Pages) -> str:
        """Go forward."""
        return await _history(pages, +1)


async def _history(pages: Pages, step: int) -> str:
    tab = await pages.usable()
    cdp = await tab.devtools()
    history = await pages.act(tab, cdp.send("Page.getNavigationHistory"))
    entries, index = history["entries"], history["currentIndex"] + step
    direction = "back" if step < 0 else "forward"
    if not 0 <= index < len(entries) or entries[index]["url"] == "about:blank":
        raise ActionFailed(f"there is nothing to go {direction} to")
    travel = tab.page.go_back if step < 0 else tab.page.go_forward
    await pages.act(
        tab,
        travel(wait_until="commit", timeout=_navigation_ms(pages)),
        pages.config.navigation_timeout_s,
    )
    return f"went {direction}"


class Reload(AnyPageTool):
    """Reload the current tab."""

    tool_name = "reload"

    async def run(self, pages: Pages) -> str:
        """Reload; a page that crashed or hangs is opened anew."""
        tab = await pages.current()
        url = tab.page.url
        if tab.crashed or tab.hung:
            if not url.startswith(pages.origin):
                raise ActionFailed("there is nothing to reload: open a page")
            return await go_to(pages, url)
        response = await pages.act(
            tab,
            tab.page.reload(wait_until="domcontentloaded", timeout=_navigation_ms(pages)),
            pages.config.navigation_timeout_s,
        )
        return f"reloaded the page{_status(response)}"
