# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Chromium in the app's network namespace, its own sandbox on, driven from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import StackConfig

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]


async def test_a_real_browser_in_the_apps_zone(small_limits: StackConfig, apps: Path) -> None:
    builder = LocalStackBuilder(small_limits)
    prepared = await builder.prepare(apps / "good/plain")
    try:
        async with prepared.stack() as stack, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=stack.browser_executable, chromium_sandbox=True
            )
            page = await browser.new_page()
            await page.goto(stack.url)
            assert await page.inner_text("h1") == "Up"
            assert await page.evaluate("isSecureContext")
            assert (await page.screenshot()).startswith(b"\x89PNG")

            await page.goto("chrome://sandbox")
            assert "You are adequately sandboxed" in await page.inner_text("body")

            for elsewhere in ("http://169.254.169.254/", "http://example.org/"):
                with pytest.raises(PlaywrightError):
                    await page.goto(elsewhere, timeout=5000)
            for private in ("file:///app/server.py", "file:///venv/pyvenv.cfg"):
                with pytest.raises(PlaywrightError):
                    await page.goto(private)
            # The browser's processes are no business of the app's, nor its profile.
            seen = await stack.exec("ps ax; ls -a /home /tmp", timeout_s=10)
            assert "chrom" not in seen.stdout
            await browser.close()
            assert (await stack.app_status()).running
    finally:
        await prepared.close()
