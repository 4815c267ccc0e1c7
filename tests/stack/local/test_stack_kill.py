# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A grader that is killed, or cancelled, leaves no process and no file of a stack behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stack.conftest import Prepare

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres]

CHILD = """
import asyncio, sys
from pathlib import Path
from vibench_gym.core.config import StackConfig
from vibench_gym.stack.local.builder import LocalStackBuilder

async def main():
    builder = LocalStackBuilder(StackConfig(), with_browser=False)
    await builder.find_host()
    print("preparing", flush=True)
    app = await builder.prepare(Path(sys.argv[1]))
    print(app._work.path, flush=True)
    async with app.stack() as stack:
        print("standing", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def family_of(pid: int) -> list[psutil.Process]:
    """A process and everything below it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def command(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


async def until_below(pid: int, *words: str) -> list[psutil.Process]:
    """A process's family once somebody in it runs a command that ends in these words."""
    async with asyncio.timeout(90):
        while True:
            family = family_of(pid)
            if any(tuple(command(one)[-len(words) :]) == words for one in family):
                return family
            await asyncio.sleep(0.05)


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    left = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                left.append(process)
    return left


def left_in(work: Path, snapshot: Path | None) -> list[Path]:
    left = [path for path in work.iterdir() if not path.name.startswith(".")]
    return left if snapshot is None or not snapshot.exists() else [*left, snapshot]


async def said(stream: asyncio.StreamReader) -> str:
    return (await asyncio.wait_for(stream.readline(), 90)).decode().strip()


@pytest.mark.parametrize("moment", ["while set-up runs", "while the stack stands"])
async def test_sigkill_of_the_grader_leaves_nothing(
    apps: Path, tmp_path: Path, moment: str
) -> None:
    app = apps / ("good/leaves_processes" if moment == "while set-up runs" else "good/plain")
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CHILD,
        str(app),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert child.stdout is not None
    assert await said(child.stdout) == "preparing"
    snapshot = None
    if moment == "while the stack stands":
        snapshot = Path(await said(child.stdout))
        assert await said(child.stdout) == "standing"
        family = await until_below(child.pid, "python", "server.py")
    else:
        family = await until_below(child.pid, "sleep", "300")
    child.send_signal(signal.SIGKILL)
    await child.wait()
    for _ in range(100):
        await asyncio.sleep(0.1)
        if not alive(family) and not left_in(tmp_path, snapshot):
            return
    processes = [(one.pid, command(one)[:8]) for one in alive(family)]
    pytest.fail(f"processes {processes}, files {left_in(tmp_path, snapshot)}")


async def test_cancelled_entering_leaves_nothing(prepare: Prepare) -> None:
    app = await prepare("broken/never_answers")
    before = family_of(os.getpid())

    async def enter() -> None:
        async with app.stack():
            pytest.fail("this app never answers")

    task = asyncio.create_task(enter())
    family = await until_below(os.getpid(), "python", "server.py")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(set(family) - set(before))


async def test_cancelled_set_up_leaves_nothing(prepare: Prepare) -> None:
    before = family_of(os.getpid())
    task = asyncio.create_task(prepare("broken/setup_hangs"))
    family = await until_below(os.getpid(), "sleep", "600")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(set(family) - set(before))
