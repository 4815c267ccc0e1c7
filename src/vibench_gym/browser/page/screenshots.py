# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a page: JPEG files, numbered, bounded in number and size."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.browser.page.tabs import Tab

QUALITY = 70
FULL_PAGE_PIXELS = 12_000
"""How tall a picture of a whole page may get; longer pages are cut at the bottom."""


class ScreenshotStore:
    """Takes the pictures and keeps their number within bounds.

    The DevTools call is used and not Playwright's: the latter waits for fonts and frames inside
    the page, which a hostile page can withhold.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._taken = 0

    @property
    def full(self) -> bool:
        """Whether only screenshots that the model asked for are still taken."""
        return self._taken >= self._limit

    @property
    def overfull(self) -> bool:
        """Whether no more screenshots are taken."""
        return self._taken >= 2 * self._limit

    async def take(self, tab: Tab, *, full_page: bool = False) -> Path:
        """Take one.

        Raises:
            PlaywrightError: the page gives none.
        """
        cdp = await tab.devtools()
        request: dict[str, Any] = {"format": "jpeg", "quality": QUALITY, "optimizeForSpeed": True}
        if full_page:
            metrics = await cdp.send("Page.getLayoutMetrics")
            size = metrics["cssContentSize"]
            request |= {
                "captureBeyondViewport": True,
                "clip": {
                    "x": 0,
                    "y": 0,
                    "width": min(size["width"], FULL_PAGE_PIXELS / 3),
                    "height": min(size["height"], FULL_PAGE_PIXELS),
                    "scale": 1,
                },
            }
        answer = await cdp.send("Page.captureScreenshot", request)
        self._taken += 1
        path = self._folder / f"shot-{self._taken:04d}.jpg"
        path.write_bytes(base64.b64decode(answer["data"]))
        return path
