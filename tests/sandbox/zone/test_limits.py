# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Apps that fork, allocate, write or print without end cost a typed result, not the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.boxes import python, shell
from vibench_gym.core.config import ProcessLimits
from vibench_gym.sandbox.zone.zone import Zone

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.sandbox.zone.uids import UidLease

pytestmark = pytest.mark.sandbox
MIB = 1024 * 1024

FORK_BOMB = """
import os, time
made = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
    except OSError:
        break
print(made)
"""


async def test_a_fork_bomb_is_bounded_and_leaves_others_alone(zone: Zone, uids: UidLease) -> None:
    limits = ProcessLimits(processes=60)
    async with Zone(snapshot=None, state_bytes=64 * MIB, uids=uids) as sibling:
        bomb = await zone.spawn(shell("f() { f | f & }; f; sleep 1000", limits))
        result = await zone.run(python(FORK_BOMB, limits), timeout_s=60)
        assert 40 <= int(result.stdout) <= 60
        other = await sibling.run(
            shell("for i in 1 2 3 4 5; do /bin/true & done; wait", limits), timeout_s=60
        )
        assert (other.return_code, other.stderr) == (0, "")
        assert (await zone.usage()).processes < 150
        await bomb.kill()


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nwhile True: x.append(bytearray(1 << 20)); time.sleep(0.001)",
        # Each child alone stays within what one process may have.
        "[os.fork() for _ in range(3)]\nx = bytearray(100 << 20)\ntime.sleep(1000)",
    ],
)
async def test_a_memory_hog_is_killed(zone: Zone, code: str) -> None:
    limits = ProcessLimits(memory_bytes=300 * MIB)
    result = await zone.run(python("import os, time\n" + code, limits), timeout_s=60)
    # Without control groups the rlimit and the watchdog race; either ends it.
    killed = (result.error_type, result.return_code) == ("killed", 137)
    assert killed or (result.return_code == 1 and "MemoryError" in result.stderr)
    assert (await zone.usage()).processes == 0


async def test_a_full_disk_is_an_error_of_the_app(uids: UidLease) -> None:
    async with Zone(snapshot=None, state_bytes=32 * MIB, uids=uids) as zone:
        script = "for i in 1 2 3; do head -c 20M /dev/zero > /app/$i || true; done; rm /app/*"
        result = await zone.run(shell(script), timeout_s=60)
        assert result.stderr.count("No space left") == 2
        script = "head -c 40M /dev/zero > /tmp/x; head -c 40M /dev/zero > /app/y; du -sm /tmp /app"
        result = await zone.run(shell(script), timeout_s=60)
        assert sum(int(line.split()[0]) for line in result.stdout.splitlines()) <= 34


async def test_a_million_files_are_bounded(uids: UidLease) -> None:
    async with Zone(snapshot=None, state_bytes=32 * MIB, uids=uids) as zone:
        code = """
import os
try:
    for number in range(1_000_000):
        os.close(os.open(f"/app/{number}", os.O_CREAT | os.O_WRONLY))
except OSError as error:
    print(error.strerror, number < 70_000)
"""
        result = await zone.run(python(code), timeout_s=100)
        assert result.stdout == "No space left on device True\n"


async def test_one_file_is_bounded(zone: Zone) -> None:
    limits = ProcessLimits(file_bytes=MIB)
    result = await zone.run(
        shell("head -c 5M /dev/zero > /app/f; stat -c %s /app/f", limits), timeout_s=20
    )
    assert result.stdout == f"{MIB}\n"


@pytest.mark.parametrize("user", ["database", "browser"])
async def test_memory_folders_are_bounded(zone: Zone, user: str) -> None:
    limits = ProcessLimits(tmp_bytes=4 * MIB)
    script = "for d in /tmp ~; do head -c 8M /dev/zero > $d/x; stat -c %s $d/x; done"
    result = await zone.run(replace(shell(script, limits), user=user), timeout_s=20)  # type: ignore[arg-type]
    assert result.stdout == f"{4 * MIB}\n" * 2


async def test_endless_output_is_bounded_in_file_and_memory(zone: Zone, tmp_path: Path) -> None:
    limits = ProcessLimits(output_bytes=MIB)
    log = tmp_path / "log"
    box = await zone.spawn(
        replace(shell("echo first; yes | head -c 30M; echo last", limits), log_path=log)
    )
    assert await box.wait(60) == 0
    data = log.read_bytes()
    assert len(data) < MIB + 100
    assert data.startswith(b"first\ny\n")
    assert data.endswith(b"y\nlast\n")
    assert b"bytes left out ...]" in data


async def test_output_without_end_does_not_stop_the_zone(zone: Zone, tmp_path: Path) -> None:
    limits = ProcessLimits(output_bytes=MIB)
    log = tmp_path / "log"
    box = await zone.spawn(replace(shell("yes", limits), log_path=log))
    result = await zone.run(shell("yes & yes >&2 & sleep 1", limits), timeout_s=30)
    assert len(result.stdout) < MIB + 100
    assert len(result.stderr) < MIB + 100
    assert log.stat().st_size < MIB + 100
    assert await box.terminate() == 143


async def test_open_files_are_bounded(zone: Zone) -> None:
    code = """
import os
made = []
try:
    while True: made.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    print(len(made))
"""
    result = await zone.run(python(code, ProcessLimits(open_files=50)), timeout_s=20)
    assert 40 <= int(result.stdout) <= 50
