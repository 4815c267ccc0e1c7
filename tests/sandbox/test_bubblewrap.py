# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The bubblewrap sandbox keeps the contract of every sandbox, and its own promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.config import ProcessLimits
from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.sandbox.bubblewrap import BubblewrapSandbox
from vibench_gym.testing.sandbox_contract import SandboxContract

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from vibench_gym.sandbox.base import Sandbox

pytestmark = pytest.mark.sandbox


class TestBubblewrapSandbox(SandboxContract):
    @pytest.fixture
    async def sandbox(self) -> AsyncIterator[Sandbox]:
        async with BubblewrapSandbox() as opened:
            yield opened


async def test_it_has_to_be_open() -> None:
    sandbox = BubblewrapSandbox()
    with pytest.raises(SandboxUnavailable, match="not open"):
        await sandbox.exec("true")
    await sandbox.close()


async def test_files_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    async with BubblewrapSandbox(state_bytes=64 << 20) as sandbox:
        for target in ("/etc/passwd", "/app", "/app/../etc/x", "relative"):
            with pytest.raises(ValueError, match="not a file below"):
                await sandbox.upload_file(tmp_path / "file", target)
        with pytest.raises(FileNotFoundError):
            await sandbox.upload_file(tmp_path, "/app/x")


async def test_a_box_killed_by_a_limit_says_so() -> None:
    limits = ProcessLimits(memory_bytes=100 << 20)
    async with BubblewrapSandbox(limits=limits, state_bytes=64 << 20, env={"A": "1"}) as sandbox:
        result = await sandbox.exec('x=$A; while true; do x="$x$x"; done', timeout_s=60)
        assert result.return_code != 0
        assert (await sandbox.exec("echo $A")).stdout == "1\n"
