# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tells when a page has settled: neither its DOM nor its own requests changed for a while.

At machine speed a correct app loses input: a late fetch redraws the form just typed into. So every
action waits for quiet before and after. Waiting is bounded, and requests that are open by nature
(WebSocket, event streams, long polls) never count: "network idle" may never come.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

if TYPE_CHECKING:
    from playwright.async_api import Frame, Request

_OPEN_BY_NATURE = frozenset({"websocket", "eventsource", "ping", "media", "texttrack"})
_MAX_PENDING = 5_000
_MAX_REMEMBERED = 200

DOM_AGE = """(() => {
  const key = "activity";
  let state = globalThis[key];
  if (!state) {
    state = globalThis[key] = {at: performance.now()};
    const note = () => { state.at = performance.now(); };
    new MutationObserver(note).observe(document, {
      subtree: true, childList: true, attributes: true, characterData: true});
  }
  return performance.now() - state.at;
})()"""
"""Milliseconds since the DOM last changed (since we first asked, in a new document)."""


def frame_of(request: Request) -> Frame | None:
    """The frame that asked, where there is one already."""
    try:
        return request.frame
    except PlaywrightError:
        # A pop-up's very first request is older than its frame.
        return None


@dataclass  # no slots: Playwright hangs attributes on owners of handlers
class Activity:
    """The requests of one page to its own origin that show that it is busy."""

    origin: str
    patience_s: float
    """A request that is open for longer than this is not waited for any more."""
    last: float = 0.0
    _pending: dict[Request, float] = field(default_factory=dict)
    _slow_by_nature: dict[str, None] = field(default_factory=dict)
    navigating_since: float | None = None
    navigations: int = 0
    _navigation: Request | None = None

    def started(self, request: Request, main_frame: Frame) -> None:
        """Note that a request left the page."""
        if not self._counts(request):
            return
        now = time.monotonic()
        self.last = now
        if len(self._pending) < _MAX_PENDING:
            self._pending[request] = now
        if request.is_navigation_request() and frame_of(request) == main_frame:
            self._navigation, self.navigating_since = request, now
            self.navigations += 1

    def ended(self, request: Request) -> None:
        """Note that it was answered, failed or turned into a stream."""
        if request is self._navigation:
            self._navigation = self.navigating_since = None
        if self._pending.pop(request, None) is not None:
            self.last = time.monotonic()

    def answered(self, request: Request, content_type: str) -> None:
        """Note the head of an answer: a navigation has come, a stream will not end."""
        if request is self._navigation:
            self._navigation = self.navigating_since = None
        if content_type.startswith(("text/event-stream", "multipart/x-mixed-replace")):
            self._pending.pop(request, None)

    def is_navigating(self) -> bool:
        """Whether the next document is on its way; Chromium keeps questions waiting until then."""
        return self.navigating_since is not None

    def navigation_over(self) -> None:
        """Note that the page answers, even if its navigation was never reported as over."""
        self._navigation = self.navigating_since = None

    def document_replaced(self) -> None:
        """Forget the requests of the previous document; their ends may never be reported."""
        self._pending = {r: at for r, at in self._pending.items() if r.is_navigation_request()}
        self.last = time.monotonic()

    def quiet_s(self, now: float) -> float:
        """For how long nothing has been asked for or answered; 0 while something is open."""
        for request, since in list(self._pending.items()):
            if now - since > self.patience_s:
                self._pending.pop(request, None)
                self._remember(request)
        return 0.0 if self._pending else now - self.last

    def _counts(self, request: Request) -> bool:
        if request.resource_type in _OPEN_BY_NATURE or not request.url.startswith(self.origin):
            return False
        return urlsplit(request.url).path not in self._slow_by_nature

    def _remember(self, request: Request) -> None:
        """A fetch that outlived our patience is a long poll: its path is not waited for again."""
        if request.is_navigation_request() or request.resource_type not in ("fetch", "xhr"):
            return
        if len(self._slow_by_nature) < _MAX_REMEMBERED:
            self._slow_by_nature[urlsplit(request.url).path] = None
