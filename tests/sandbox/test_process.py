# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Trusted tools of the host: bounded in time and output."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from vibench_gym.sandbox.process import run_bounded


class TestRunBounded:
    async def test_outputs_code_and_environment(self) -> None:
        script = "echo out; echo err >&2; env; exit 3"
        result = await run_bounded(["/bin/sh", "-c", script], timeout_s=20, env={"A": "1"})
        assert (result.return_code, result.stderr, result.error_type) == (3, "err\n", None)
        assert set(result.stdout.split()) <= {"out", "A=1", f"PWD={Path.cwd()}"}

    async def test_output_is_cut(self) -> None:
        argv = ["/bin/sh", "-c", "yes | head -c 10M"]
        result = await run_bounded(argv, timeout_s=60, output_bytes=1000)
        assert (len(result.stdout), result.return_code) == (1000, 0)

    async def test_timeout_kills_the_group(self) -> None:
        argv = ["/bin/sh", "-c", "sleep 1000 & sleep 1000"]
        result = await run_bounded(argv, timeout_s=0.3)
        assert (result.return_code, result.error_type) == (125, "timeout")

    async def test_signals_have_a_shells_code(self) -> None:
        result = await run_bounded(["/bin/sh", "-c", "kill -9 $$"], timeout_s=20)
        assert result.return_code == 137

    async def test_cancelling_kills(self) -> None:
        task = asyncio.create_task(run_bounded(["/bin/sleep", "1000"], timeout_s=1000))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_a_missing_program_is_an_error(self) -> None:
        with pytest.raises(FileNotFoundError):
            await run_bounded(["/not/there"], timeout_s=1)
