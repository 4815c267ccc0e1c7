# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what a document shows: its title, and its accessibility snapshot or its bare text.

Playwright's snapshot waits for a body and takes time in proportion to the elements, so documents
without a body (SVG, `document.open()`) and enormous ones are shown as text, without refs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.async_api import TimeoutError as PlaywrightTimeout

from vibench_gym.browser.page.snapshot import PageSnapshot, make_snapshot, text_snapshot

if TYPE_CHECKING:
    from vibench_gym.browser.page.tabs import Tab

TITLE_CHARS = 200
MAX_ELEMENTS = 25_000
SNAPSHOT_TIMEOUT_S = 10.0

# A page may shadow properties of `document` by elements of that name, so the getters are borrowed.
_ABOUT = """(chars => {
  const get = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  return {title: String(get("title")).slice(0, chars), body: !!get("body"),
          elements: Document.prototype.getElementsByTagName.call(document, "*").length};
})"""
_TEXT = """(chars => {
  const get = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const shown = get("body") || get("documentElement");
  const text = shown ? (shown.innerText ?? shown.textContent ?? "") : "";
  return {text: text.slice(0, chars), more: Math.max(0, text.length - chars)};
})"""


async def read_document(tab: Tab, *, limit: int, only: str | None) -> tuple[str, PageSnapshot]:
    """Title and snapshot of a tab's document.

    Raises:
        PlaywrightError: the document went away meanwhile.
    """
    world = await tab.isolated()
    about = await world.call(_ABOUT, TITLE_CHARS)
    title = str(about["title"])
    if about["body"] and about["elements"] <= MAX_ELEMENTS:
        try:
            raw = await tab.page.aria_snapshot(mode="ai", timeout=SNAPSHOT_TIMEOUT_S * 1000)
        except PlaywrightTimeout:
            pass
        else:
            return title, make_snapshot(raw, limit, only=only)
    shown = await world.call(_TEXT, limit)
    reason = f"{about['elements']} elements" if about["body"] else "a document without a body"
    return title, text_snapshot(str(shown["text"]), int(shown["more"]), limit, reason)
