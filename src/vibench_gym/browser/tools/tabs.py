# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tabs, and contexts: visitors that share no cookies or storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.browser.failures import ActionFailed, bounded
from vibench_gym.browser.tools.base import AnyPageTool, Name, Url
from vibench_gym.browser.tools.navigation import go_to

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import ContextState, Tab

_CLOSE_S = 5.0


class NewTab(AnyPageTool):
    """Open another tab in the current context and switch to it."""

    tool_name = "new_tab"
    name: Name | None = None
    url: Url | None = None

    async def run(self, pages: Pages) -> str:
        """Open it, and an address in it if one is given."""
        url = pages.resolve(self.url) if self.url is not None else None
        tab = await pages.add_tab(pages.context_state, self.name)
        done = f"opened {tab.name} in {pages.context_state.name}"
        return done if url is None else f"{done}; {await go_to(pages, url)}"


class NewContext(AnyPageTool):
    """Open a context of its own (another visitor: no shared cookies or storage), switch to it."""

    tool_name = "new_context"
    name: Name
    url: Url | None = None

    async def run(self, pages: Pages) -> str:
        """Open it with one tab, and an address in it if one is given."""
        url = pages.resolve(self.url) if self.url is not None else None
        context_state = await pages.add_context(self.name)
        done = f"opened {context_state.name} with its own cookies and storage"
        return done if url is None else f"{done}; {await go_to(pages, url)}"


class Switch(AnyPageTool):
    """Go to another context or tab."""

    tool_name = "switch"
    context: Name | None = None
    tab: Name | None = None

    async def run(self, pages: Pages) -> str:
        """Go to a context, a tab, or a tab of a context."""
        if self.context is None and self.tab is None:
            raise ActionFailed("say which context or tab to switch to")
        context_state = (
            _context_state(pages, self.context) if self.context is not None else pages.context_state
        )
        if self.tab is None:
            tab = context_state.current
        else:
            context_state, tab = _find_tab(
                pages, context_state, self.tab, anywhere=self.context is None
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
    raise ActionFailed(_no_such_tab(context_state, name))


def _no_such_tab(context_state: ContextState, name: str | None) -> str:
    names = ", ".join(tab.name for tab in context_state.tabs) or "none"
    return f"{context_state.name} has no tab called {name}; its tabs: {names}"


class CloseTab(AnyPageTool):
    """Close a tab, the current one by default."""

    tool_name = "close_tab"
    tab: Name | None = None

    async def run(self, pages: Pages) -> str:
        """Close it; the one before it becomes the current one."""
        context_state = pages.context_state
        tab = context_state.tab(self.tab) if self.tab is not None else await pages.current()
        if tab is None:
            raise ActionFailed(_no_such_tab(context_state, self.tab))
        await bounded(tab.page.close(), _CLOSE_S)
        return f"closed {tab.name}"
