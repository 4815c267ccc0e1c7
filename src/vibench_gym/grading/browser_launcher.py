# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The grader's browsers: Chromium driven by Playwright, started inside an app's zone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vibench_gym.browser.session import PlaywrightBrowser
from vibench_gym.core.config import BrowserConfig
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from vibench_gym.browser.base import Browser, BrowserLaunch


@dataclass(frozen=True, slots=True)
class PlaywrightLauncher:
    """Implements `BrowserLauncher` with one set of settings for every plan."""

    config: BrowserConfig = field(default_factory=BrowserConfig)
    chromium_sandbox: bool = True

    async def launch(self, options: BrowserLaunch) -> Browser:
        """A fresh Chromium on an empty page.

        Raises:
            BrowserFailed: it did not start.
            PrerequisiteMissing: there is no browser on this host.
        """
        work = await asyncio.to_thread(WorkFolder, "browser")
        try:
            browser = await PlaywrightBrowser.launch(
                options,
                config=self.config,
                chromium_sandbox=self.chromium_sandbox,
                work_dir=work.path,
            )
        except BaseException:
            await asyncio.shield(asyncio.to_thread(work.remove))
            raise
        browser.after_close = work.remove
        return browser
