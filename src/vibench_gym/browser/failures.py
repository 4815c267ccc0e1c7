# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a page, in words that help a model; a hard bound for every browser call.

A page may hang, crash or refuse: all of that is a finding (`ActionFailed`), never an exception for
the caller. Playwright's own time-outs do not hold when a renderer spins in a loop, so every call
goes through `bounded`.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from playwright.async_api import Error as PlaywrightError

MESSAGE_CHARS = 600


class ActionFailed(Exception):
    """A tool call that could not be carried out: an error observation with this message."""


class PageUnresponsive(ActionFailed):
    """The page did not answer within the hard bound."""


class PageCrashed(ActionFailed):
    """The page's renderer is gone."""


async def bounded[T](awaitable: Awaitable[T], seconds: float) -> T:
    """Await a browser call, at most so many seconds.

    Raises:
        PageUnresponsive: no answer in time.
    """
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise PageUnresponsive(f"the page does not respond (waited {seconds:g} s)") from None


_COVERED = re.compile(r"- (<.*?>.* intercepts pointer events)")
_STATES = (
    (
        "element is not visible",
        "the element is not visible",
    ),
    (
        "element is not enabled",
        "the element is disabled",
    ),
    (
        "element is not stable",
        "the element keeps moving",
    ),
    (
        "element is outside of the viewport",
        "the element is outside the visible part of the page and cannot be scrolled into it",
    ),
    (
        "element is not editable",
        "the field is read-only",
    ),
    (
        "did not find some options",
        "the select box has no such option",
    ),
)
_NETWORK = {
    "ERR_CONNECTION_REFUSED": "connection refused: nothing listens there",
    "ERR_CONNECTION_RESET": "the app closed the connection",
    "ERR_EMPTY_RESPONSE": "the app closed the connection without an answer",
    "ERR_TOO_MANY_REDIRECTS": "too many redirects",
    "ERR_NAME_NOT_RESOLVED": "redirected to a host other than the app's, which is not reachable",
    "ERR_INTERNET_DISCONNECTED": "this context is offline",
    "ERR_ABORTED": "no document came (the app answered without one, or the load was cancelled)",
    "ERR_INVALID_RESPONSE": "the app's answer is not HTTP",
    "ERR_INVALID_HTTP_RESPONSE": "the app's answer is not HTTP",
}


def explain(error: PlaywrightError) -> str:
    """One bounded line that says what happened and, if we know, what to do."""
    message = error.message
    for code, meaning in _NETWORK.items():
        if code in message:
            return f"{meaning} (net::{code})"
    covered = _COVERED.search(message)
    if covered:
        return f"another element covers it: {one_line(covered[1], 300)}"
    for sign, meaning in _STATES:
        if sign in message:
            return meaning
    first = message.strip().partition("\n")[0]
    first = re.sub(r"^(Page|Locator|Keyboard|Mouse|Frame|BrowserContext)\.\w+: ", "", first)
    first = first.removeprefix("Error: ")
    if re.fullmatch(r"Timeout .*exceeded\.?", first):
        return f"it did not happen in time ({one_line(first, 60)})"
    return one_line(first, MESSAGE_CHARS)


def is_gone(error: PlaywrightError) -> bool:
    """Whether the page (or more) that was acted upon no longer exists."""
    return "has been closed" in error.message or "Target closed" in error.message


def one_line(text: str, limit: int) -> str:
    """Text on one line, cut with a marker."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    return f"{flat[:limit]}[... cut: {len(flat) - limit} more characters]"
