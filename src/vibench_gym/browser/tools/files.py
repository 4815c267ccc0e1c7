# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Files into and out of pages. Only staged test assets are uploaded, and as bytes.

Chromium runs in a mount namespace of its own, so its paths name other files than ours.
"""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING, Annotated

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import FilePayload
from pydantic import Field, StringConstraints

from vibench_gym.browser.failures import ActionFailed
from vibench_gym.browser.page.downloads import keep_new_downloads
from vibench_gym.browser.tools.base import OnElement

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import FileChooser

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

MAX_UPLOAD_BYTES = 45 * 1024 * 1024
_TRANSFER_S = 60.0
_NOT_AN_INPUT = ("not an HTMLInputElement", "Node is not", "not an <input", "Non-file")


class Upload(OnElement):
    """Give staged test assets to a file input, or to the button that opens the file dialog."""

    tool_name = "upload"
    files: tuple[Annotated[str, StringConstraints(max_length=255)], ...] = Field(
        max_length=20, description="names of staged test assets; an empty list clears the input"
    )

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Give files to an input, or to the dialog that a click on the element opens."""
        payloads = [_asset(pages, name) for name in self.files]
        if sum(len(payload["buffer"]) for payload in payloads) > MAX_UPLOAD_BYTES:
            raise ActionFailed(f"more than {MAX_UPLOAD_BYTES} bytes at once cannot be uploaded")
        target = await pages.element(tab, self.ref)
        label = pages.label(tab, self.ref)
        tab.file_chooser = None
        try:
            await pages.act(
                tab, target.set_input_files(payloads, timeout=pages.timeout_ms), _TRANSFER_S
            )
        except PlaywrightError as error:
            if not any(sign in error.message for sign in _NOT_AN_INPUT):
                raise
            await pages.act(tab, target.click(timeout=pages.timeout_ms))
            await pages.settler.after(tab)
            chooser: FileChooser | None = tab.file_chooser
            if chooser is None:
                raise ActionFailed(f"{label} is no file input and opens no file dialog") from None
            tab.file_chooser = None
            await pages.act(tab, chooser.set_files(payloads), _TRANSFER_S)
        names = ", ".join(self.files) or "nothing"
        return f"uploaded {names} through {label}"


def _asset(pages: Pages, name: str) -> FilePayload:
    folder = pages.assets_dir
    staged = sorted(_staged(folder)) if folder is not None else []
    if folder is None or name not in staged:
        shown = ", ".join(staged[:30]) or "none"
        raise ActionFailed(f"no staged file is called {name[:100]!r}; there are: {shown}")
    path = folder / name
    if path.stat().st_size > MAX_UPLOAD_BYTES:
        raise ActionFailed(f"{name} is too big to upload")
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FilePayload(name=path.name, mimeType=kind, buffer=path.read_bytes())


def _staged(folder: Path) -> list[str]:
    root = folder.resolve()
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(root)
    ]


class Download(OnElement):
    """Click an element and keep the file that the app offers; tells its name, size and content."""

    tool_name = "download"
    result_is_finding = True

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Click and wait for the file that the page offers."""
        target = await pages.element(tab, self.ref)
        label = pages.label(tab, self.ref)
        await keep_new_downloads(pages)
        await pages.act(tab, target.click(timeout=pages.timeout_ms))
        await pages.settler.after(tab)
        kept = await keep_new_downloads(pages, wait_s=pages.config.action_timeout_s / 2)
        if not kept:
            raise ActionFailed(f"clicking {label} started no download")
        return f"clicked {label}{kept}"
