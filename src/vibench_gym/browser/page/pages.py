# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The contexts and tabs of a browser, the current one, and the elements on it by their refs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import ActionFailed, PageCrashed, PageUnresponsive, bounded
from vibench_gym.browser.page.dialogs import DialogHandler
from vibench_gym.browser.page.settle import AppWait, Settler
from vibench_gym.browser.page.tabs import ContextState, Tab

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from playwright.async_api import Browser as Chromium
    from playwright.async_api import CDPSession, Locator

    from vibench_gym.browser.trace import TraceRecorder
    from vibench_gym.core.config import BrowserConfig

_SLACK_S = 3.0
_OPEN_TAB_S = 15.0


class Pages:
    """The open pages and everything the tools need to act on them."""

    def __init__(
        self,
        chromium: Chromium,
        *,
        base_url: str,
        config: BrowserConfig,
        downloads_dir: Path,
        assets_dir: Path | None,
        trace: TraceRecorder,
    ) -> None:
        parts = urlsplit(base_url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.chromium = chromium
        self.config = config
        self.downloads_dir = downloads_dir
        self.assets_dir = assets_dir
        self.wait = AppWait()
        self.settler = Settler(config, self.wait)
        self.dialogs = DialogHandler()
        self.context_states: dict[str, ContextState] = {}
        self.context_state: ContextState
        self.kept_downloads = 0
        self._trace = trace
        self._blank_page: CDPSession | None = None

    # -- contexts and tabs -----------------------------------------------------------------------

    async def add_context(self, name: str) -> ContextState:
        """Make a context with one empty tab and switch to it.

        Raises:
            ActionFailed: the name is taken, or there are too many.
        """
        if name in self.context_states:
            raise ActionFailed(f"there is a context called {name} already: use switch")
        if len(self.context_states) >= self.config.max_contexts:
            raise ActionFailed(f"{self.config.max_contexts} contexts are open, no more are allowed")
        context = await bounded(
            self.chromium.new_context(
                viewport={
                    "width": self.config.viewport_width,
                    "height": self.config.viewport_height,
                },
                timezone_id="UTC",
                accept_downloads=True,
            ),
            _OPEN_TAB_S,
        )
        context_state = ContextState(
            name, context, self.origin, self.config.settle_max_s, self.config.max_tabs
        )
        context.on("page", context_state.page_opened)
        context.on("dialog", self.dialogs.answer)
        await bounded(
            context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.origin),
            _OPEN_TAB_S,
        )
        await bounded(self._trace.start(name, context), _OPEN_TAB_S)
        self.context_states[name] = context_state
        self.context_state = context_state
        await self.add_tab(context_state, None)
        return context_state

    async def add_tab(self, context_state: ContextState, name: str | None) -> Tab:
        """Open an empty tab and switch to it.

        Raises:
            ActionFailed: the name is taken, or there are too many tabs.
        """
        name = context_state.reserve_name(name)
        page = await bounded(context_state.context.new_page(), _OPEN_TAB_S)
        context_state.next_name = None
        tab = context_state.of(page) or context_state.adopt(page)
        if tab is None:
            raise ActionFailed("too many tabs are open, close some first")
        context_state.rename(tab, name)
        context_state.current = tab
        return tab

    async def replace_tab(self, tab: Tab) -> Tab:
        """A new page under the name of one that crashed or hangs; storage is the context's."""
        context_state = self.context_state
        context_state.forget(tab)
        with contextlib.suppress(PlaywrightError, PageUnresponsive):
            await bounded(tab.page.close(), _SLACK_S)
        return await self.add_tab(context_state, tab.name)

    async def current(self) -> Tab:
        """The current tab; an empty one is opened where none is left."""
        tab = self.context_state.current
        return tab if tab is not None else await self.add_tab(self.context_state, None)

    async def usable(self) -> Tab:
        """The current tab, able to act.

        Raises:
            PageCrashed: its renderer is gone.
            PageUnresponsive: it hangs.
        """
        tab = await self.current()
        if tab.crashed:
            raise PageCrashed("the page has crashed: open it again")
        await self.settler.before(tab)
        return tab

    async def blank_page(self) -> CDPSession:
        """A blank page of ours in a context of its own, out of any app's reach."""
        if self._blank_page is None:
            context = await self.chromium.new_context()
            page = await context.new_page()
            self._blank_page = await context.new_cdp_session(page)
        return self._blank_page

    # -- elements --------------------------------------------------------------------------------

    async def element(self, tab: Tab, ref: str) -> Locator:
        """The element of a ref.

        Raises:
            ActionFailed: there is none.
        """
        locator = tab.page.get_by_ref(ref)
        try:
            count = await self.act(tab, locator.count())
        except PlaywrightError:
            count = 0
        if count != 1:
            where = " in the part that is shown; scroll to it, or" if tab.snapshot.folded else ";"
            raise ActionFailed(
                f"there is no element {ref} on this page now{where} "
                "take refs from the newest snapshot (they change when the page does)"
            )
        return locator

    def label(self, tab: Tab, ref: str) -> str:
        """The name that the last snapshot gave an element, for results."""
        return f"{tab.snapshot.labels.get(ref, 'element')} [{ref}]"

    async def act[T](self, tab: Tab, awaitable: Awaitable[T], timeout_s: float | None = None) -> T:
        """Await a call on the page within a hard bound above Playwright's own."""
        limit = timeout_s if timeout_s is not None else self.config.action_timeout_s
        return await self.settler.act(tab, awaitable, timeout_s=limit + _SLACK_S)

    @property
    def timeout_ms(self) -> float:
        """Playwright's own bound for an action."""
        return self.config.action_timeout_s * 1000

    # -- addresses -------------------------------------------------------------------------------

    def resolve(self, url: str) -> str:
        """A whole address of the app.

        Raises:
            ActionFailed: it is not one of the app's.
        """
        if url.startswith(f"{urlsplit(self.origin).netloc}"):
            url = f"{urlsplit(self.origin).scheme}://{url}"
        current = self.context_state.current
        base = current.page.url if current is not None else ""
        base = base if base.startswith(f"{self.origin}/") else f"{self.origin}/"
        try:
            whole = urljoin(base, url)
            parts = urlsplit(whole)
            origin = f"{parts.scheme}://{parts.netloc}"
        except ValueError as error:
            raise ActionFailed(f"{url[:200]!r} is not an address: {error}") from None
        if origin != self.origin:
            raise ActionFailed(
                f"{url[:200]!r} is refused: only pages of the app are reachable; "
                f"give a path such as /items or an address that starts with {self.origin}/"
            )
        return whole
