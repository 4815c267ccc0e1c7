# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A grader to be killed: opens zones with running boxes without end and never cleans up on time.

The argument is a number by which the test tells its processes from others. Prints a line once
boxes and a launched box stand; then opens further zones until it is killed.
"""

from __future__ import annotations

import asyncio
import sys

from support.boxes import shell
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
from vibench_gym.sandbox.zone.uids import UidLease
from vibench_gym.sandbox.zone.zone import Zone

MIB = 1024 * 1024
STUBBORN = "trap '' TERM HUP INT; setsid sleep 4321.%s & while true; do sleep 4321.%s; done"


async def main() -> None:
    """Stand zones up until the end."""
    tag = sys.argv[1]
    stubborn = STUBBORN % (tag, tag)
    lease = UidLease.acquire()
    folder = WorkFolder("doomed")
    (folder.path / "app").mkdir()
    (folder.path / "app" / "file").write_text("x")
    for number in range(1000):
        zone = Zone(snapshot=folder.path, state_bytes=64 * MIB, uids=lease, name=f"doomed{tag}")
        await zone.__aenter__()
        await zone.spawn(shell(stubborn))
        launcher = await zone.launcher(shell(f"echo on; {stubborn}"))
        process = await asyncio.create_subprocess_exec(launcher, stdout=asyncio.subprocess.PIPE)
        if process.stdout is not None:
            await process.stdout.readline()
        if number == 0:
            sys.stdout.write("standing\n")
            sys.stdout.flush()
        if number % 2:
            await zone.close()


if __name__ == "__main__":
    asyncio.run(main())
