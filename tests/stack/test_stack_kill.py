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

import pytest

if TYPE_CHECKING:
    from stack.conftest import Prepare

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres]

CHILD = """
import asyncio, sys
from pathlib import Path
from vibench_gym.core.config import StackConfig
from vibench_gym.stack.local import LocalStackBuilder

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


def descendants(root: int) -> set[tuple[int, str]]:
    """Processes below one, each with its start time: a pid alone may be used again."""
    parent_of: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parent_of[int(folder.name)] = (int(fields[1]), fields[19])
    found: set[int] = {root}
    while more := {pid for pid, (parent, _) in parent_of.items() if parent in found} - found:
        found |= more
    return {(pid, parent_of[pid][1]) for pid in found if pid in parent_of}


def alive(processes: set[tuple[int, str]]) -> set[int]:
    left = set()
    for pid, started in processes:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[19] == started and fields[0] != "Z":
                left.add(pid)
    return left


def described(processes: set[tuple[int, str]]) -> list[str]:
    found = []
    for pid in alive(processes):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            found.append(f"{pid}: {words[:8]!r}")
    return found


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
    else:
        await asyncio.sleep(2)
    family = descendants(child.pid)
    assert len(family) > 3
    child.send_signal(signal.SIGKILL)
    await child.wait()
    for _ in range(100):
        await asyncio.sleep(0.1)
        if not alive(family) and not left_in(tmp_path, snapshot):
            return
    pytest.fail(f"processes {described(family)}, files {left_in(tmp_path, snapshot)}")


async def test_cancelled_entering_leaves_nothing(prepare: Prepare) -> None:
    app = await prepare("broken/never_answers")
    before = descendants(os.getpid())

    async def enter() -> None:
        async with app.stack():
            pytest.fail("this app never answers")

    task = asyncio.create_task(enter())
    await asyncio.sleep(1.5)
    family = descendants(os.getpid()) - before
    assert family
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(family)


async def test_cancelled_set_up_leaves_nothing(prepare: Prepare) -> None:
    before = descendants(os.getpid())
    task = asyncio.create_task(prepare("broken/setup_hangs"))
    await asyncio.sleep(3)
    family = descendants(os.getpid()) - before
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(family)
