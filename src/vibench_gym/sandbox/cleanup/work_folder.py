# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A private folder around a piece of work, in asyncio: gone afterwards, however that ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from vibench_gym.sandbox.cleanup.janitor import WorkFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@contextlib.asynccontextmanager
async def work_folder(name: str, parent: Path | None = None) -> AsyncIterator[Path]:
    """A folder below `parent`, or the system's temporary folder.

    Raises:
        OSError: it cannot be made.
    """
    folder = await asyncio.to_thread(WorkFolder, name, parent)
    try:
        yield folder.path
    finally:
        await asyncio.shield(asyncio.to_thread(folder.remove))
