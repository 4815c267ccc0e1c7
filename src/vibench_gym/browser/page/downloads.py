# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the files that pages download, even if Chromium has another file system.

Chromium runs in a mount namespace of its own, so its paths name other files than ours. Downloads
are read back through Chromium: a blank page of ours, which no app can touch, gets the saved file as
its file input's file and reads it in slices. Size, number and names of kept files are bounded.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import time
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import ActionFailed, PageUnresponsive, bounded, explain
from vibench_gym.browser.page.snapshot import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import CDPSession, Download

    from vibench_gym.browser.page.pages import Pages

MAX_KEPT = 100
PREVIEW_CHARS = 2_000
NAME_CHARS = 100
_SLICE = 4 * 1024 * 1024
_TRANSFER_S = 60.0
"""For all downloads of one call to end, and for one to be read; an endless one is cancelled."""
_CANCEL_S = 5.0


async def keep_new_downloads(pages: Pages, wait_s: float = 0.0) -> str:
    """Keep the downloads that the current context's pages began; the result names each of them."""
    started = _take_started(pages)
    waited = 0.0
    while not started and waited < wait_s:
        with pages.wait.waiting():
            tab = await pages.current()
            await pages.act(tab, tab.page.wait_for_timeout(100))
        waited += 0.1
        started = _take_started(pages)
    ends_at = time.monotonic() + _TRANSFER_S
    return "".join([f"\n{await _keep(pages, item, ends_at)}" for item in started])


def _take_started(pages: Pages) -> list[Download]:
    started: list[Download] = []
    for tab in pages.context_state.tabs:
        started += tab.downloads
        tab.downloads = []
    started += pages.context_state.orphaned_downloads
    pages.context_state.orphaned_downloads = []
    return started


async def _keep(pages: Pages, item: Download, ends_at: float) -> str:
    offered = quoted(item.suggested_filename, NAME_CHARS)
    if pages.kept_downloads >= MAX_KEPT:
        return f"download {offered}: not kept, {MAX_KEPT} are already"
    try:
        path = await _ended(pages, item, ends_at)
        content = await bounded(_read_inside(pages, str(path)), _TRANSFER_S)
    except PlaywrightError as error:
        return f"download {offered} failed: {explain(error)}"
    except ActionFailed as failed:
        return f"download {offered} failed: {failed}"
    pages.kept_downloads += 1
    name = f"{pages.kept_downloads:02d}-{safe_name(item.suggested_filename)}"
    (pages.downloads_dir / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    about = f"download {offered}: {len(content)} bytes, sha256 {digest}, kept as {name}"
    return f"{about}\n{_preview(content)}"


async def _ended(pages: Pages, item: Download, ends_at: float) -> Path:
    """Where a download is once it has ended; the time is the app's, who sends it.

    Raises:
        ActionFailed: it does not end in time, and was cancelled lest it fill the browser's space.
        PlaywrightError: it failed.
    """
    try:
        with pages.wait.waiting():
            return await bounded(item.path(), max(0.1, ends_at - time.monotonic()))
    except PageUnresponsive:
        with contextlib.suppress(PlaywrightError, PageUnresponsive):
            await bounded(item.cancel(), _CANCEL_S)
        raise ActionFailed(f"it did not end in {_TRANSFER_S:g} s and was cancelled") from None


def _preview(content: bytes) -> str:
    try:
        text = content[: PREVIEW_CHARS * 4].decode()
    except UnicodeDecodeError as error:
        if error.start < min(len(content), PREVIEW_CHARS * 4) - 4:
            return f"content: not text, begins with {content[:16].hex(' ')}"
        text = content[: error.start].decode()
    if "\x00" in text:
        return f"content: not text, begins with {content[:16].hex(' ')}"
    more = len(content) - len(text[:PREVIEW_CHARS].encode())
    tail = f"\n[... cut: {more} more bytes]" if more > 0 else ""
    return f"content:\n{text[:PREVIEW_CHARS]}{tail}"


def safe_name(name: str) -> str:
    """Our name for a file whose name the app chose."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", name.replace("\\", "/").rpartition("/")[2])
    return kept.lstrip(".")[-NAME_CHARS:] or "file"


async def _read_inside(pages: Pages, path: str) -> bytes:
    cdp = await pages.blank_page()
    created = await cdp.send(
        "Runtime.evaluate",
        {"expression": "Object.assign(document.createElement('input'), {type: 'file'})"},
    )
    holder = created["result"]["objectId"]
    try:
        await cdp.send("DOM.setFileInputFiles", {"files": [path], "objectId": holder})
        size = int(await _on(cdp, holder, "function() { return this.files[0].size; }"))
        limit = pages.config.max_download_bytes
        if size > limit:
            raise ActionFailed(f"{size} bytes are more than the {limit} that are kept")
        parts = [await _slice(cdp, holder, start) for start in range(0, size, _SLICE)]
    finally:
        await cdp.send("Runtime.releaseObject", {"objectId": holder})
    return b"".join(parts)


async def _slice(cdp: CDPSession, holder: str, start: int) -> bytes:
    function = """async function(from, to) {
      const reader = new FileReader();
      await new Promise((resolve, reject) => {
        reader.onload = resolve;
        reader.onerror = () => reject(reader.error);
        reader.readAsDataURL(this.files[0].slice(from, to));
      });
      return reader.result.slice(reader.result.indexOf(",") + 1);
    }"""
    return base64.b64decode(str(await _on(cdp, holder, function, start, start + _SLICE)))


async def _on(cdp: CDPSession, holder: str, function: str, *values: int) -> Any:
    answer = await cdp.send(
        "Runtime.callFunctionOn",
        {
            "objectId": holder,
            "functionDeclaration": function,
            "arguments": [{"value": value} for value in values],
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    if "exceptionDetails" in answer:
        raise ActionFailed("the file that Chromium saved cannot be read")
    return answer["result"].get("value")
