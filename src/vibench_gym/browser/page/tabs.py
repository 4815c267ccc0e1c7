# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Contexts and tabs by the names that test plans use (`context_B`, `tab_2`).

A context is one visitor: its own cookies, storage and permissions. A tab keeps what belongs to one
page: its name, its activity, whether it crashed or hangs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vibench_gym.browser.failures import ActionFailed
from vibench_gym.browser.page.activity import Activity, frame_of
from vibench_gym.browser.page.isolated_world import IsolatedWorld
from vibench_gym.browser.page.snapshot import EMPTY, PageSnapshot

if TYPE_CHECKING:
    from playwright.async_api import (
        BrowserContext,
        CDPSession,
        Download,
        FileChooser,
        Frame,
        Page,
        Request,
        Response,
    )

_MAX_BLOCKED_HOSTS = 50
_MAX_OPEN_DOWNLOADS = 20
_MAX_NOTES = 50


@dataclass(eq=False)  # no slots: Playwright hangs attributes on owners of handlers
class Tab:
    """One page under a name."""

    name: str
    page: Page
    activity: Activity
    cdp: CDPSession | None = None
    world: IsolatedWorld | None = None
    snapshot: PageSnapshot = EMPTY
    """The last one shown: refs are taken from it."""
    crashed: bool = False
    hung: bool = False
    restless: int = 0
    """How often in a row the page did not settle although it asked for nothing: an animation."""
    file_chooser: FileChooser | None = None
    downloads: list[Download] = field(default_factory=list)
    blocked_hosts: set[str] = field(default_factory=set)
    http_status: int | None = None
    """Of the last answer to a navigation; redirects come before it."""

    async def devtools(self) -> CDPSession:
        """The page's DevTools session, made on first use."""
        if self.cdp is None:
            cdp = await self.page.context.new_cdp_session(self.page)
            # A request for a passkey opens a window of the browser's, which nobody sees or closes
            # here and which takes every click. There is no passkey on this machine: say so.
            await cdp.send("WebAuthn.enable", {"enableUI": False})
            self.cdp = cdp
        return self.cdp

    async def isolated(self) -> IsolatedWorld:
        """Where our own scripts run."""
        if self.world is None:
            self.world = IsolatedWorld(await self.devtools())
        return self.world

    def watch(self) -> None:
        """Listen to what the page does."""
        page = self.page
        page.on("request", self._on_request)
        page.on("requestfinished", self.activity.ended)
        page.on("requestfailed", self._on_failed)
        page.on("response", self._on_response)
        page.on("framenavigated", self._on_navigated)
        page.on("filechooser", self._on_file_chooser)
        page.on("download", self._on_download)
        page.on("crash", self._on_crash)

    def _on_request(self, request: Request) -> None:
        self.activity.started(request, self.page.main_frame)

    def _on_failed(self, request: Request) -> None:
        self.activity.ended(request)
        failure = request.failure or ""
        if "ERR_NAME_NOT_RESOLVED" in failure and len(self.blocked_hosts) < _MAX_BLOCKED_HOSTS:
            self.blocked_hosts.add((urlsplit(request.url).hostname or "")[:253])

    def _on_response(self, response: Response) -> None:
        request = response.request
        self.activity.answered(request, response.headers.get("content-type", ""))
        if request.is_navigation_request() and frame_of(request) == self.page.main_frame:
            self.http_status = response.status

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self.page.main_frame:
            self.activity.document_replaced()
            self.file_chooser = None

    def _on_file_chooser(self, chooser: FileChooser) -> None:
        self.file_chooser = chooser

    def _on_download(self, download: Download) -> None:
        if len(self.downloads) < _MAX_OPEN_DOWNLOADS:
            self.downloads.append(download)

    def _on_crash(self, _: Page) -> None:
        self.crashed = True


@dataclass(eq=False)  # no slots: Playwright hangs attributes on owners of handlers
class ContextState:
    """A browser context under a name, with its tabs in the order they were opened."""

    name: str
    context: BrowserContext
    origin: str
    patience_s: float
    max_tabs: int
    tabs: list[Tab] = field(default_factory=list)
    current: Tab | None = None
    next_name: str | None = None
    """The name of the page that we are about to open."""
    notes: list[str] = field(default_factory=list)
    refused_popups: list[Page] = field(default_factory=list)
    orphaned_downloads: list[Download] = field(default_factory=list)
    """Begun by a tab that closed at once, as tabs opened for a download do."""
    _opened: int = 0

    def page_opened(self, page: Page) -> None:
        """A page appeared in the context, ours or a pop-up."""
        self.adopt(page)

    def adopt(self, page: Page) -> Tab | None:
        """Give a new page (ours or a pop-up) a name; None if too many are open."""
        ours, self.next_name = self.next_name, None
        if len(self.tabs) >= self.max_tabs:
            self.refused_popups.append(page)
            return None
        tab = Tab(ours or self._free_name(), page, Activity(self.origin, self.patience_s))
        tab.watch()
        self.tabs.append(tab)
        page.once("close", lambda _: self._closed(tab))
        if self.current is None:
            self.current = tab
        elif ours is None:
            self._note(f"a new tab opened: {tab.name}")
        return tab

    def tab(self, name: str) -> Tab | None:
        """The tab of that name."""
        return next((tab for tab in self.tabs if tab.name == name), None)

    def of(self, page: Page) -> Tab | None:
        """The tab that shows this page."""
        return next((tab for tab in self.tabs if tab.page == page), None)

    def rename(self, tab: Tab, name: str) -> None:
        """Give a tab its name; a pop-up that came first and got it takes the other one."""
        holder = self.tab(name)
        if holder is not None and holder is not tab:
            holder.name = tab.name
        tab.name = name

    def _free_name(self) -> str:
        while True:
            self._opened += 1
            name = f"tab_{self._opened}"
            if self.tab(name) is None:
                return name

    def reserve_name(self, name: str | None) -> str:
        """The name for a tab that we are about to open.

        Raises:
            ActionFailed: the name is taken, or there are too many tabs.
        """
        if len(self.tabs) >= self.max_tabs:
            raise ActionFailed(f"{self.max_tabs} tabs are open, close some first")
        if name is not None and self.tab(name) is not None:
            raise ActionFailed(f"{self.name} has a tab called {name} already")
        if name is not None and (numbered := re.fullmatch(r"tab_(\d{1,6})", name)):
            self._opened = max(self._opened, int(numbered[1]) - 1)
        self.next_name = name or self._free_name()
        return self.next_name

    def _closed(self, tab: Tab) -> None:
        if tab not in self.tabs:
            return
        self.orphaned_downloads += tab.downloads[:_MAX_OPEN_DOWNLOADS]
        index = self.tabs.index(tab)
        self.tabs.remove(tab)
        if self.current is tab:
            self.current = self.tabs[max(0, index - 1)] if self.tabs else None
            there = self.current.name if self.current else "no tab"
            self._note(f"{tab.name} is closed; now in {there}")

    def _note(self, note: str) -> None:
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(note)

    def forget(self, tab: Tab) -> None:
        """Drop a tab that is being replaced, without telling the model."""
        if tab in self.tabs:
            self.tabs.remove(tab)
        if self.current is tab:
            self.current = None
