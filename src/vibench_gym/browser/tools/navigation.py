# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses, history, tabs and contexts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from vibench_gym.browser.failures import ActionFailed, PageUnresponsive, bounded

if TYPE_CHECKING:
    from playwright.async_api import Response

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import ContextState, Tab
    from vibench_gym.browser.tools import arguments as args

_CLOSE_S = 5.0
_ATTEMPTS = 2


async def open_url(pages: Pages, call: args.Open) -> str:
    """Open an address in the current tab, which is made anew where it crashed or hangs."""
    return await _go(pages, pages.resolve(call.url))


async def _go(pages: Pages, url: str) -> str:
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


async def back(pages: Pages, _: args.Back) -> str:
    """Go back."""
    return await _history(pages, -1)


async def forward(pages: Pages, _: args.Forward) -> str:
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


async def reload(pages: Pages, _: args.Reload) -> str:
    """Reload; a page that crashed or hangs is opened anew."""
    tab = await pages.current()
    url = tab.page.url
    if tab.crashed or tab.hung:
        if not url.startswith(pages.origin):
            raise ActionFailed("there is nothing to reload: open a page")
        return await _go(pages, url)
    response = await pages.act(
        tab,
        tab.page.reload(wait_until="domcontentloaded", timeout=_navigation_ms(pages)),
        pages.config.navigation_timeout_s,
    )
    return f"reloaded the page{_status(response)}"


async def new_tab(pages: Pages, call: args.NewTab) -> str:
    """Open a tab in the current context."""
    url = pages.resolve(call.url) if call.url is not None else None
    tab = await pages.add_tab(pages.context_state, call.name)
    done = f"opened {tab.name} in {pages.context_state.name}"
    return done if url is None else f"{done}; {await _go(pages, url)}"


async def new_context(pages: Pages, call: args.NewContext) -> str:
    """Open a context of its own."""
    url = pages.resolve(call.url) if call.url is not None else None
    context_state = await pages.add_visitor(call.name)
    done = f"opened {context_state.name} with its own cookies and storage"
    return done if url is None else f"{done}; {await _go(pages, url)}"


async def switch(pages: Pages, call: args.Switch) -> str:
    """Go to a context, a tab, or a tab of a context."""
    if call.context is None and call.tab is None:
        raise ActionFailed("say which context or tab to switch to")
    context_state = (
        _context_state(pages, call.context) if call.context is not None else pages.context_state
    )
    if call.tab is None:
        tab = context_state.current
    else:
        context_state, tab = _find_tab(
            pages, context_state, call.tab, anywhere=call.context is None
        )
        context_state.current = tab
    pages.context_state = context_state
    tab = tab if tab is not None else await pages.current()
    if not (tab.crashed or tab.hung):
        await pages.act(tab, tab.page.bring_to_front())
    return f"switched to {context_state.name}/{tab.name}"


def _context_state(pages: Pages, name: str) -> ContextState:
    context_state = pages.context_states.get(name)
    if context_state is None:
        raise ActionFailed(
            f"there is no context called {name}; there are: {', '.join(pages.context_states)}. "
            "Use new_context to open one"
        )
    return context_state


def _find_tab(
    pages: Pages, context_state: ContextState, name: str, *, anywhere: bool
) -> tuple[ContextState, Tab]:
    here = context_state.tab(name)
    if here is not None:
        return context_state, here
    others = [(v, t) for v in pages.context_states.values() if (t := v.tab(name)) is not None]
    if anywhere and len(others) == 1:
        return others[0]
    names = ", ".join(tab.name for tab in context_state.tabs) or "none"
    raise ActionFailed(f"{context_state.name} has no tab called {name}; its tabs: {names}")


async def close_tab(pages: Pages, call: args.CloseTab) -> str:
    """Close a tab; the one before it becomes the current one."""
    context_state = pages.context_state
    tab = context_state.tab(call.tab) if call.tab is not None else await pages.current()
    if tab is None:
        names = ", ".join(other.name for other in context_state.tabs) or "none"
        raise ActionFailed(f"{context_state.name} has no tab called {call.tab}; its tabs: {names}")
    await bounded(tab.page.close(), _CLOSE_S)
    return f"closed {tab.name}"
