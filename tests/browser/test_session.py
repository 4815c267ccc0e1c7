# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Starting, ending and losing Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from vibench_gym.browser.base import BrowserLaunch
from vibench_gym.browser.page import pages
from vibench_gym.browser.session import PlaywrightBrowser
from vibench_gym.core.config import BrowserConfig
from vibench_gym.core.errors import BrowserFailed, PrerequisiteMissing

if TYPE_CHECKING:
    from browser.conftest import Site, Start

pytestmark = pytest.mark.browser


def _descendants(pid: int) -> list[tuple[int, str]]:
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found.append((process.pid, " ".join(process.cmdline())))
    return found


def _hidden(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


async def _use(browser: PlaywrightBrowser) -> None:
    for _ in range(3):
        await browser.call("open", {"url": "/"})


async def test_a_whole_life(site: Site, start: Start, tmp_path: Path) -> None:
    browser = await start(site, tmp_path)
    mine = {pid for pid, command in _descendants(os.getpid()) if "chrom" in command}
    assert mine
    names = [spec.name for spec in browser.tools]
    assert {"open", "click", "snapshot", "download"} <= set(names)
    seen = await browser.call("open", {"url": site.show("<h1>hello</h1>")})
    assert (seen.id, seen.seq, seen.context, seen.tab) == ("obs-0001", 1, "context_A", "tab_1")
    await browser.call("new_context", {"name": "context_B"})
    await browser.close()
    await browser.close()
    assert zipfile.is_zipfile(tmp_path / "trace.zip")
    assert zipfile.is_zipfile(tmp_path / "trace-context_B.zip")
    assert not _hidden(tmp_path)
    assert not {pid for pid, _ in _descendants(os.getpid())} & mine
    with pytest.raises(BrowserFailed):
        await browser.call("snapshot", {})


async def test_chromium_killed_is_browser_failed(site: Site, start: Start, tmp_path: Path) -> None:
    browser = await start(site, tmp_path)
    await browser.call("open", {"url": site.show("x")})
    main = next(pid for pid, command in _descendants(os.getpid()) if "--user-data-dir" in command)
    os.kill(main, signal.SIGKILL)
    with pytest.raises(BrowserFailed):
        await _use(browser)
    with pytest.raises(BrowserFailed):
        await browser.observe()
    await browser.close()


async def test_driver_killed_is_browser_failed(site: Site, start: Start, tmp_path: Path) -> None:
    browser = await start(site, tmp_path)
    driver = next(pid for pid, command in _descendants(os.getpid()) if "run-driver" in command)
    os.kill(driver, signal.SIGKILL)
    with pytest.raises(BrowserFailed):
        await _use(browser)
    await browser.close()


async def test_a_cancelled_call_leaves_a_usable_browser(
    site: Site, start: Start, tmp_path: Path
) -> None:
    browser = await start(site, tmp_path)
    await browser.call("open", {"url": site.show("<h1>still</h1>")})
    call = asyncio.create_task(browser.call("wait_for", {"seconds": 30}))
    await asyncio.sleep(0.3)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert "still" in (await browser.call("snapshot", {})).text
    await browser.close()


async def test_no_chromium_and_no_chromium_like_program(tmp_path: Path) -> None:
    async def launch(executable: Path) -> None:
        await PlaywrightBrowser.launch(
            BrowserLaunch(
                executable=executable,
                base_url="http://localhost:1/",
                screenshots_dir=tmp_path,
                downloads_dir=tmp_path,
                trace_path=tmp_path / "t.zip",
            ),
            config=BrowserConfig(),
        )

    with pytest.raises(PrerequisiteMissing, match="apt-get install chromium"):
        await launch(tmp_path / "none")
    with pytest.raises(BrowserFailed, match="--version says"):
        await launch(Path("/bin/true"))
    fake = tmp_path / "fake"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Chromium 1.2.3.4\nexit 3\n')
    fake.chmod(0o755)
    with pytest.raises(BrowserFailed, match="does not start"):
        await launch(fake)
    assert not _hidden(tmp_path)


async def test_connection_refused_is_a_finding(start: Start, tmp_path: Path, site: Site) -> None:
    config = BrowserConfig(settle_quiet_s=0.1, settle_max_s=0.5, max_screenshots=2)
    browser = await start(site, tmp_path, config, "http://localhost:9/")
    seen = await browser.call("open", {"url": "/"})
    assert seen.is_error
    assert "refused" in seen.text or "UNSAFE_PORT" in seen.text
    pictures = [(await browser.call("snapshot", {})).screenshot for _ in range(4)]
    assert pictures[-1] is None
    asked = await browser.call("screenshot", {})
    assert asked.screenshot is not None
    await browser.close()
    assert len(list((tmp_path / "screenshots").iterdir())) == 3


async def test_an_empty_page_that_does_not_open_is_the_browsers_fault(
    site: Site, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = await start(site, tmp_path / "one")
    monkeypatch.setattr(pages, "_OPEN_TAB_S", 0.0)
    with pytest.raises(BrowserFailed, match="does not show an empty page"):
        await start(site, tmp_path / "two")
    refused = await browser.call("new_tab", {})
    assert refused.is_error, "a tool that fails is told to the model, the browser lives on"
    assert not (await browser.call("snapshot", {})).is_error
    await browser.close()
