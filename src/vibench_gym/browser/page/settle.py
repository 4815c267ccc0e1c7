# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Waits until a page is quiet, and counts every wait as time that the app took."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import PageUnresponsive, bounded
from vibench_gym.browser.page.activity import DOM_AGE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from vibench_gym.browser.page.tabs import Tab
    from vibench_gym.core.config import BrowserConfig

_POLL_S = 0.02
_RESTLESS = 2
_RESTLESS_MAX_S = 1.0
_HUNG_PING_S = 2.0
_NAVIGATIONS = 4
_ASK_S = 0.1


@dataclass(slots=True)
class AppWait:
    """Adds up the time spent waiting for the page."""

    seconds: float = 0.0
    _depth: int = 0

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time of the block, once however deep it is nested."""
        start = time.monotonic()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self.seconds += time.monotonic() - start

    def take(self) -> float:
        """What was waited since the last call."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


class Settler:
    """Waits until a tab is quiet, within bounds."""

    def __init__(self, config: BrowserConfig, wait: AppWait) -> None:
        self._config = config
        self._wait = wait

    async def act[T](self, tab: Tab, awaitable: Awaitable[T], *, timeout_s: float) -> T:
        """Await a call on the page; one that never answers marks the tab as hung.

        Raises:
            PageUnresponsive: no answer within the bound.
        """
        with self._wait.waiting():
            try:
                return await bounded(awaitable, timeout_s)
            except PageUnresponsive:
                tab.hung = True
                raise

    async def responds(self, tab: Tab) -> None:
        """Ask a tab that hung once more, for a short time.

        Raises:
            PageUnresponsive: it still hangs.
        """
        if tab.hung:
            await self.act(tab, self._dom_age(tab), timeout_s=_HUNG_PING_S)
            tab.hung = False

    async def before(self, tab: Tab) -> None:
        """Wait for a page that is still busy; costs one look where it is quiet.

        Raises:
            PageUnresponsive: it hangs.
        """
        await self.responds(tab)
        if not tab.restless:
            await self._until_quiet(tab, since=float("-inf"))

    async def after(self, tab: Tab) -> None:
        """Wait until the effects of an action are over.

        Raises:
            PageUnresponsive: it hangs.
        """
        await self.responds(tab)
        await self._until_quiet(tab, since=time.monotonic())

    async def _until_quiet(self, tab: Tab, *, since: float) -> None:
        quiet = self._config.settle_quiet_s
        start = time.monotonic()
        most = self._config.settle_max_s
        if tab.restless >= _RESTLESS:
            most = min(_RESTLESS_MAX_S, most)
        navigations = tab.activity.navigations
        with self._wait.waiting():
            while not (tab.crashed or tab.page.is_closed()):
                age = await self._age(tab)
                now = time.monotonic()
                network = tab.activity.quiet_s(now)
                still = min(age, network, now - since)
                if still >= quiet and not tab.activity.is_navigating():
                    tab.restless = 0
                    return
                went = tab.activity.navigations - navigations
                if now - start >= self._limit(tab, most, went):
                    tab.restless = tab.restless + 1 if network >= quiet else 0
                    return
                await asyncio.sleep(max(_POLL_S, min(quiet - still, quiet)))

    def _limit(self, tab: Tab, settle_max_s: float, navigations: int) -> float:
        """The time limit: longer during a navigation, but not if navigations never end."""
        navigating = tab.activity.is_navigating() and navigations <= _NAVIGATIONS
        return self._config.navigation_timeout_s if navigating else settle_max_s

    async def _age(self, tab: Tab) -> float:
        """For how long the DOM has not changed; 0 while the page is being left.

        Raises:
            PageUnresponsive: no answer, although no next page is on its way.
        """
        if tab.activity.is_navigating():
            return 0.0
        asking = asyncio.ensure_future(self._dom_age(tab))
        deadline = time.monotonic() + self._config.action_timeout_s
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=_ASK_S)
                if not asking.done() and tab.activity.is_navigating():
                    return 0.0
                if not asking.done() and time.monotonic() >= deadline:
                    tab.hung = True
                    seconds = self._config.action_timeout_s
                    raise PageUnresponsive(f"the page does not respond (waited {seconds:g} s)")
            tab.hung = False
            return asking.result()
        finally:
            asking.cancel()

    async def _dom_age(self, tab: Tab) -> float:
        try:
            world = await tab.isolated()
            return float(await world.evaluate(DOM_AGE) or 0.0) / 1000
        except PlaywrightError:
            # Between two documents, or gone: not quiet, and the caller looks at the state.
            return 0.0
