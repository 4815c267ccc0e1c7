# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Chromium in a box: driven from outside over a pipe, with its own sandbox on."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from support.boxes import python
from vibench_gym.core.config import MIB, ProcessLimits
from vibench_gym.sandbox.zone.box import BoxSpec

if TYPE_CHECKING:
    from vibench_gym.sandbox.zone.zone import Zone

pytestmark = [pytest.mark.sandbox, pytest.mark.browser]

APP = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>In the box</title><p>hello")
http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
"""


async def test_chromium_in_a_box_shows_the_apps_page_with_its_own_sandbox_on(zone: Zone) -> None:
    program = shutil.which("chromium") or shutil.which("google-chrome") or "/usr/bin/chromium"
    await zone.spawn(python(APP))
    spec = BoxSpec(
        argv=(program,),
        user="browser",
        env={},
        binds=(),
        limits=ProcessLimits(processes=2048),
        nested_userns=True,
    )
    launcher = await zone.launcher(spec)
    async with asyncio.timeout(30):
        while 8000 not in await zone.listening_ports():  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.02)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=launcher, chromium_sandbox=True)
        page = await browser.new_page()
        await page.goto("http://localhost:8000/")
        assert await page.title() == "In the box"
        await page.goto("chrome://sandbox")
        assert "You are adequately sandboxed." in await page.inner_text("body")
        await browser.close()
    async with asyncio.timeout(30):
        while (await zone.usage()).processes > 3:  # noqa: ASYNC110 (other processes)
            await asyncio.sleep(0.05)


EATS = "held = []\nwhile True: held.append(b'x' * 10_000_000)\n"


async def test_a_browser_that_is_ended_for_its_memory_leaves_the_limit_on_record(
    zone: Zone,
) -> None:
    assert (await zone.usage()).over_memory == {}
    limits = ProcessLimits(memory_bytes=150 * MIB)
    launcher = await zone.launcher(replace(python(EATS), user="browser", limits=limits))
    process = await asyncio.create_subprocess_exec(launcher)
    assert await process.wait() != 0
    assert (await zone.usage()).over_memory == {"browser": limits.memory_bytes}
