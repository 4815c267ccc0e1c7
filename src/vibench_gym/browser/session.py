# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`PlaywrightBrowser`: Chromium driven by typed tools, one call at a time.

Invariants: every call returns within a time limit; a page that fails or hangs is a finding in an
`Observation`; only the loss of Chromium or its driver raises, as `BrowserFailed`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from vibench_gym.browser.failures import (
    ActionFailed,
    PageUnresponsive,
    bounded,
    explain,
    is_gone,
)
from vibench_gym.browser.launch import chromium_version, launch_chromium, temporary_folder
from vibench_gym.browser.page.folding import register_folding
from vibench_gym.browser.page.observer import Look, Observer
from vibench_gym.browser.page.pages import Pages
from vibench_gym.browser.tools.registry import BROWSER_TOOLS
from vibench_gym.browser.trace import TraceRecorder
from vibench_gym.core.errors import BrowserFailed
from vibench_gym.core.toolset import BadArguments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from playwright.async_api import Browser as Chromium
    from playwright.async_api import CDPSession, Playwright

    from vibench_gym.browser.base import BrowserLaunch, Observation
    from vibench_gym.core.config import BrowserConfig
    from vibench_gym.core.tool import ToolSpec

CLOSE_TIMEOUT_S = 10.0
HEARTBEAT_S = 10.0
START_TIMEOUT_S = 30.0
_STOPPING: set[asyncio.Task[None]] = set()
_STARTING: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class PlaywrightBrowser:
    """Implements the `Browser` protocol; make it with `launch`.

    Raises:
        BrowserFailed: Chromium or its driver is gone.
    """

    def __init__(
        self,
        *,
        playwright: Playwright,
        chromium: Chromium,
        pages: Pages,
        observer: Observer,
        trace: TraceRecorder,
        heartbeat: CDPSession,
    ) -> None:
        self._playwright = playwright
        self._chromium = chromium
        self._pages = pages
        self._observer = observer
        self._trace = trace
        self._heartbeat = heartbeat
        self._lock = asyncio.Lock()
        self._gone = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None
        self.after_close: Callable[[], None] | None = None
        """Called in a thread once driver and browser are gone."""
        chromium.on("disconnected", lambda _: self._gone.set())

    @classmethod
    async def launch(
        cls,
        options: BrowserLaunch,
        *,
        config: BrowserConfig,
        chromium_sandbox: bool = True,
        work_dir: Path | None = None,
    ) -> Self:
        """Start Chromium with one context and one empty tab.

        What driver and browser need on disk for themselves goes to `work_dir`, which the caller
        removes once this is closed or was killed; else to the system's temporary folder.

        Raises:
            PrerequisiteMissing: there is no such executable.
            BrowserFailed: it does not come up.
        """
        for folder in (options.screenshots_dir, options.downloads_dir):
            folder.mkdir(parents=True, exist_ok=True)
        trace = TraceRecorder(options.trace_path, work_dir)
        # Chromium is asked for its version while the driver starts.
        asking = asyncio.create_task(chromium_version(options.executable))
        try:
            playwright = await _start_driver(work_dir)
        except BaseException:
            asking.cancel()
            trace.discard()
            raise
        try:
            await register_folding(playwright)
            chromium = await launch_chromium(
                playwright,
                executable=options.executable,
                version=await asking,
                chromium_sandbox=chromium_sandbox,
                traces_dir=trace.parts_dir,
                work_dir=work_dir,
                viewport=(config.viewport_width, config.viewport_height),
            )
            pages = Pages(
                chromium,
                base_url=options.base_url,
                config=config,
                downloads_dir=options.downloads_dir,
                assets_dir=options.assets_dir,
                trace=trace,
            )
            browser = cls(
                playwright=playwright,
                chromium=chromium,
                pages=pages,
                observer=Observer(pages, options.screenshots_dir),
                trace=trace,
                heartbeat=await _heartbeat(chromium),
            )
            async with browser._errors_classified():
                await pages.add_context("context_A")
        except BaseException:
            asking.cancel()
            await _stop_driver(playwright)
            trace.discard()
            raise
        return browser

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools, for a model."""
        return BROWSER_TOOLS.specs

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Carry out one tool call; bad arguments and missing elements give an error observation."""
        async with self._lock, self._errors_classified():
            await self._trace.check_size()
            look = Look(tool=name[:60])
            try:
                call = BROWSER_TOOLS.parse(name, arguments)
                look = await call.carry_out(self._pages)
            except BadArguments as error:
                look = look.failed(f"bad arguments: {error}")
            except ActionFailed as error:
                look = look.failed(str(error))
                await self._settle_quietly()
            except PlaywrightError as error:
                if is_gone(error) and await self._is_gone():
                    raise
                look = look.failed(self._describe_error(error))
                await self._settle_quietly()
            return await self._observed(look)

    async def observe(self) -> Observation:
        """A fresh look at the current page without any action."""
        async with self._lock, self._errors_classified():
            await self._ask_again()
            await self._settle_quietly()
            return await self._observed(Look(tool="observe", result="looked at the page"))

    async def close(self) -> None:
        """Stop Chromium and its driver, save the trace; safe to call twice."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._chromium.is_connected():
            await self._trace.save()
        with contextlib.suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._chromium.close()
        await _stop_driver(self._playwright)
        self._trace.discard()
        if self.after_close is not None:
            await asyncio.to_thread(self.after_close)

    async def _observed(self, look: Look) -> Observation:
        """Look at the page; if it does not answer, check that the browser itself still does."""
        observation = await self._observer.look(look)
        if self._observer.saw_nothing and not observation.page_crashed:
            await self._check_alive()
        return observation

    async def _check_alive(self) -> None:
        try:
            await bounded(self._heartbeat.send("Browser.getVersion"), HEARTBEAT_S)
        except (PageUnresponsive, PlaywrightError):
            raise BrowserFailed("Chromium or its driver does not answer") from None

    async def _settle_quietly(self) -> None:
        """After a failed action: wait until the page is quiet, as far as it becomes quiet."""
        tab = self._pages.context_state.current
        if tab is None or tab.crashed or tab.hung or tab.activity.is_navigating():
            return
        with contextlib.suppress(PageUnresponsive):
            await self._pages.settler.after(tab)

    async def _ask_again(self) -> None:
        """A page that was busy for too long may have come to itself: a fresh look asks it."""
        tab = self._pages.context_state.current
        if tab is not None and not tab.crashed:
            with contextlib.suppress(PageUnresponsive):
                await self._pages.settler.responds(tab)

    def _describe_error(self, error: PlaywrightError) -> str:
        if is_gone(error):
            return "the tab was closed meanwhile"
        return explain(error)

    async def _is_gone(self) -> bool:
        """Whether the whole browser is gone, not only one page."""
        if self._gone.is_set() or not self._chromium.is_connected():
            return True
        try:
            await self._check_alive()
        except BrowserFailed:
            return True
        return self._gone.is_set()

    @contextlib.asynccontextmanager
    async def _errors_classified(self) -> AsyncIterator[None]:
        if self._closing is not None or not self._chromium.is_connected():
            raise BrowserFailed("Chromium is gone")
        try:
            yield
        except (BrowserFailed, asyncio.CancelledError, TimeoutError):
            raise
        except ActionFailed as error:  # not from a tool: the empty page of ours did not open
            raise BrowserFailed(f"Chromium does not show an empty page: {error}") from error
        except PlaywrightError as error:
            gone = "is gone" if await self._is_gone() else "failed"
            raise BrowserFailed(f"Chromium {gone}: {error.message[:1000]}") from error
        except Exception as error:
            # When the driver ends, Playwright raises a plain Exception: only its text tells.
            if "onnection closed" in str(error) or await self._is_gone():
                raise BrowserFailed(f"the browser's driver is gone: {error}") from error
            raise


async def _heartbeat(chromium: Chromium) -> CDPSession:
    """The DevTools session that later tells whether Chromium is alive.

    Raises:
        BrowserFailed: it does not answer now.
    """
    try:
        return await bounded(chromium.new_browser_cdp_session(), START_TIMEOUT_S)
    except (PageUnresponsive, PlaywrightError) as error:
        raise BrowserFailed(f"Chromium started and does not answer: {error}") from error


async def _start_driver(work_dir: Path | None) -> Playwright:
    """Start Playwright's driver process.

    Raises:
        BrowserFailed: it does not start.
    """
    async with _driver_environment(work_dir):
        return await _driver_started()


@contextlib.asynccontextmanager
async def _driver_environment(work_dir: Path | None) -> AsyncIterator[None]:
    """Give the driver that starts within the block its own folder for temporary files.

    Playwright passes our whole environment to the driver and takes no other, so one driver starts
    at a time.
    """
    if work_dir is None:
        yield
        return
    lock = _STARTING.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with lock:
        before = os.environ.get("TMPDIR")
        os.environ.update(temporary_folder(work_dir))
        try:
            yield
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before


async def _driver_started() -> Playwright:
    starting = asyncio.ensure_future(async_playwright().start())
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            return await asyncio.shield(starting)
    except (PlaywrightError, OSError) as error:
        raise BrowserFailed(f"the browser's driver does not start: {error}") from error
    except TimeoutError as error:
        _stop_when_started(starting)
        raise BrowserFailed(f"the driver did not start in {START_TIMEOUT_S:.0f} s") from error
    except asyncio.CancelledError:
        _stop_when_started(starting)
        raise


def _stop_when_started(starting: asyncio.Future[Playwright]) -> None:
    """Stop a driver that nobody waits for once it has started; cancelling leaves a process."""

    def stop(started: asyncio.Future[Playwright]) -> None:
        if not started.cancelled() and started.exception() is None:
            task = asyncio.ensure_future(_stop_driver(started.result()))
            _STOPPING.add(task)
            task.add_done_callback(_STOPPING.discard)

    starting.add_done_callback(stop)


async def _stop_driver(playwright: Playwright) -> None:
    """Stop the driver; a Chromium that still runs ends with it."""
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await playwright.stop()
