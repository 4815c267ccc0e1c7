# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Dialogs never wait: each is answered the moment it opens and reported in the next observation.

An open dialog stops the page's scripts, so an unanswered one would hang everything after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.page.snapshot import quoted

if TYPE_CHECKING:
    from playwright.async_api import Dialog

MAX_REPORTED = 10
TEXT_CHARS = 500


@dataclass  # no slots: Playwright hangs attributes on owners of handlers
class DialogHandler:
    """Answers dialogs of all pages; `arm` sets the answer to the next one."""

    _accept: bool = True
    _text: str | None = None
    _reports: list[str] = field(default_factory=list)
    _unreported: int = 0

    def arm(self, *, accept: bool, text: str | None) -> None:
        """Set how the next dialog is answered; later ones are accepted again."""
        self._accept = accept
        self._text = text

    async def answer(self, dialog: Dialog) -> None:
        """Answer a dialog that has just opened."""
        accept, text = self._accept, self._text
        if dialog.type == "beforeunload":
            # Leaving the page must stay possible unless a test says otherwise.
            outcome = "left the page" if accept else "stayed on the page"
        elif dialog.type == "prompt" and accept:
            outcome = f"answered {quoted(text if text is not None else dialog.default_value, 200)}"
        else:
            outcome = "accepted" if accept else "dismissed"
        self._accept, self._text = True, None
        self._report(f"{dialog.type} {quoted(dialog.message, TEXT_CHARS)} -> {outcome}")
        try:
            if not accept:
                await dialog.dismiss()
            elif dialog.type == "prompt":
                await dialog.accept(text if text is not None else dialog.default_value)
            else:
                await dialog.accept()
        except PlaywrightError:
            # The page went away under its dialog, which answers it as well.
            return

    def take(self) -> tuple[str, ...]:
        """What was reported since the last call."""
        reports = self._reports
        if self._unreported:
            reports.append(f"and {self._unreported} more dialogs")
        self._reports, self._unreported = [], 0
        return tuple(reports)

    def _report(self, text: str) -> None:
        if len(self._reports) < MAX_REPORTED:
            self._reports.append(text)
        else:
            self._unreported += 1
