# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A Playwright trace per context: actions, console, network, pictures; bounded in size.

DOM snapshots are left out on purpose: Playwright records them with a script in the page's own
world, under a global name that an app could look for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import BrowserContext

MAX_PARTS_BYTES = 96 * 1024 * 1024
CHECK_EVERY = 10
SAVE_TIMEOUT_S = 20.0


class TraceRecorder:
    """Records every context; the first goes to `path`, others beside it by name."""

    def __init__(self, path: Path | None, work_dir: Path | None = None) -> None:
        self._path = path
        self._recording: dict[str, BrowserContext] = {}
        self._calls = 0
        self.full = False
        self.parts_dir: Path | None = None
        if path is not None:
            self.parts_dir = (work_dir or path.parent) / f".{path.stem}-parts"
        if self.parts_dir is not None:
            self.parts_dir.mkdir(parents=True, exist_ok=True)

    async def start(self, name: str, context: BrowserContext) -> None:
        """Record a new context.

        Raises:
            PlaywrightError: the context is gone.
        """
        if self._path is None or self.full:
            return
        await context.tracing.start(screenshots=True, snapshots=False, sources=False, title=name)
        self._recording[name] = context

    async def check_size(self) -> None:
        """Stop recording, and save what there is, once it has become too big."""
        self._calls += 1
        if self.parts_dir is None or self.full or self._calls % CHECK_EVERY:
            return
        if await asyncio.to_thread(_tree_bytes, self.parts_dir) > MAX_PARTS_BYTES:
            self.full = True
            await self.save()

    async def save(self) -> None:
        """Write the files; a trace that cannot be saved is not worth a failure."""
        recording, self._recording = self._recording, {}
        for name, context in recording.items():
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(SAVE_TIMEOUT_S):
                    await context.tracing.stop(path=self._file(name))

    def discard(self) -> None:
        """Remove the parts that the files were made from."""
        if self.parts_dir is not None:
            shutil.rmtree(self.parts_dir, ignore_errors=True)

    def _file(self, name: str) -> Path:
        path = self._path
        if path is None:
            raise ValueError("nothing is recorded")
        return path if name == "context_A" else path.with_stem(f"{path.stem}-{name}")


def _tree_bytes(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size  # noqa: PTH116, PTH118 - many
    return total
