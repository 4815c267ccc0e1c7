# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How many gradings run at once on this host, over all of its processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from vibench_gym.gym.server.host_limiter import HostLimiter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gym


async def test_no_more_than_the_slots_are_inside(tmp_path: Path) -> None:
    limiter = HostLimiter(tmp_path / "locks/slots", 2)
    other_process = HostLimiter(tmp_path / "locks/slots", 2)
    inside = highest = done = 0

    async def work(one: HostLimiter) -> None:
        nonlocal inside, highest, done
        async with one:
            inside += 1
            highest = max(highest, inside)
            await asyncio.sleep(0.01)
            inside -= 1
            done += 1

    await asyncio.gather(*(work(limiter) for _ in range(4)), *(work(other_process) for _ in "ab"))

    assert (highest, done) == (2, 6)


async def test_a_cancelled_waiter_takes_no_slot(tmp_path: Path) -> None:
    limiter = HostLimiter(tmp_path / "locks/slots", 1)
    async with limiter:
        waiter = asyncio.create_task(limiter.__aenter__())
        await asyncio.sleep(0.05)
        waiter.cancel()
        await asyncio.wait([waiter])
    await asyncio.wait_for(limiter.__aenter__(), 5)
    await limiter.__aexit__(None, None, None)


async def test_a_killed_process_gives_its_slot_back(tmp_path: Path) -> None:
    folder = tmp_path / "locks/slots"
    limiter = HostLimiter(folder, 1)
    program = (
        "import sys, time; from pathlib import Path\n"
        "from vibench_gym.sandbox.locks import try_lock\n"
        "print(try_lock(Path(sys.argv[1])), flush=True); time.sleep(600)"
    )
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(folder / "0"), stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    entering = asyncio.create_task(limiter.__aenter__())
    await asyncio.sleep(0.3)
    assert not entering.done()
    holder.kill()
    await holder.wait()

    await asyncio.wait_for(entering, 10)
    await limiter.__aexit__(None, None, None)
