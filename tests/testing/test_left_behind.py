# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The stack contract's look for leftovers sees them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
from vibench_gym.testing import left_behind
from vibench_gym.testing.left_behind import nothing_left_behind

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_behind, "PATIENCE_S", 0.3)


async def test_a_process_that_is_left_is_named() -> None:
    with pytest.raises(AssertionError, match="left behind: process"):
        async with nothing_left_behind():
            process = await asyncio.create_subprocess_exec("/usr/bin/sleep", "60")
    process.kill()
    await process.wait()


async def test_a_folder_that_is_left_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=f"left behind: {tmp_path}"):
        async with nothing_left_behind():
            folder = WorkFolder("left", tmp_path)
    folder.remove()


async def test_what_is_cleaned_up_is_nothing(tmp_path: Path) -> None:
    async with nothing_left_behind():
        with WorkFolder("gone", tmp_path):
            process = await asyncio.create_subprocess_exec("/usr/bin/true")
            await process.wait()
