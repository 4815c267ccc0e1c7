# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Runs trusted tools of the host with a time limit and bounded output; never untrusted code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

from vibench_gym.sandbox.exec_result import ExecResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT_CODE = 125
_READ = 65536


async def run_bounded(
    argv: Sequence[str],
    *,
    timeout_s: float,
    output_bytes: int = 1024 * 1024,
    env: Mapping[str, str] | None = None,
) -> ExecResult:
    """Run a program in a session of its own, with `env` as its whole environment.

    Of each output the first `output_bytes` are kept, the rest is read and dropped. After a
    time-out the process group is killed; the result has code 125 and says "timeout".

    Raises:
        OSError: the program cannot be started.
    """
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(env or {}),
        start_new_session=True,
    )
    outputs = (bytearray(), bytearray())
    code, timed_out = TIMEOUT_CODE, False
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(
                _keep(process.stdout, outputs[0], output_bytes),
                _keep(process.stderr, outputs[1], output_bytes),
            )
            code = await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await _end(process)
    stdout, stderr = (bytes(output).decode("utf-8", "replace") for output in outputs)
    return ExecResult(
        stdout=stdout,
        stderr=stderr,
        return_code=code if code >= 0 else 128 - code,
        error_type="timeout" if timed_out else None,
        duration_s=time.monotonic() - started,
    )


async def _keep(stream: asyncio.StreamReader | None, kept: bytearray, limit: int) -> None:
    if stream is None:
        return
    while data := await stream.read(_READ):
        kept += data[: max(0, limit - len(kept))]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process group; our own tools do not leave it for another session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())
