# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.docker.vibench_lab import until
from vibench_gym.grading.vibench.scripts import Output, Script

if TYPE_CHECKING:
    from pathlib import Path

CLEANS_UP = """
import pathlib, sys, time
try:
    pathlib.Path(sys.argv[1], "started").touch()
    time.sleep(1000)
finally:
    print("x" * 200_000)
    pathlib.Path(sys.argv[1], "cleaned").touch()
"""
DEAF = """
import pathlib, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
pathlib.Path(sys.argv[1], "started").touch()
time.sleep(1000)
"""


def script(folder: Path, code: str, **more: Any) -> Script:
    argv = [sys.executable, "-c", code, str(folder)]
    settings = {"grace_s": 30.0, "environment": {"PATH": os.environ["PATH"]}, **more}
    return Script(argv=argv, folder=folder, **settings)


async def test_what_it_prints_and_returns(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    done = await script(tmp_path, code).run(60)

    assert (done.code, done.timed_out) == (7, False)
    assert set(done.output.split()) == {"out", "err"}


async def test_its_environment_is_what_it_was_given(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ))"
    done = await script(tmp_path, code, environment={"ONLY": "this", "LC_ALL": "C"}).run(60)

    assert done.output == "['LC_ALL', 'ONLY']\n"


async def test_a_lot_of_output_is_drained_and_bounded(tmp_path: Path) -> None:
    code = "print('a' * 10); print('b' * 5_000_000); print('c' * 10)"
    done = await script(tmp_path, code, output_bytes=1000).run(60)

    assert done.code == 0
    assert done.output.startswith("a" * 10)
    assert done.output.endswith("c" * 10 + "\n")
    assert "bytes cut" in done.output
    assert len(done.output) < 1100


async def test_when_time_is_up_it_can_clean_up(tmp_path: Path) -> None:
    done = await script(tmp_path, CLEANS_UP).run(3)

    assert done.timed_out
    assert (tmp_path / "cleaned").exists()
    assert "KeyboardInterrupt" in done.output


async def test_a_server_in_the_background_ignores_interrupts_its_scripts_do_not(
    tmp_path: Path,
) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        await script(tmp_path, CLEANS_UP).run(3)
    finally:
        signal.signal(signal.SIGINT, before)

    assert (tmp_path / "cleaned").exists()


async def test_what_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vibench_gym.grading.vibench.scripts.TERM_GRACE_S", 0.5)
    seen: list[tuple[str, int]] = []
    run = script(
        tmp_path,
        DEAF,
        grace_s=0.5,
        on_start=lambda pid: seen.append(("start", pid)),
        on_end=lambda pid: seen.append(("end", pid)),
    )
    done = await run.run(2)

    assert done.timed_out
    assert [what for what, _ in seen] == ["start", "end"]
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0][1], 0)


async def test_cancelling_waits_until_it_has_cleaned_up(tmp_path: Path) -> None:
    task = asyncio.create_task(script(tmp_path, CLEANS_UP).run(1000))
    await until((tmp_path / "started").exists)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "cleaned").exists()


async def test_what_it_leaves_in_its_group_ends_with_it(tmp_path: Path) -> None:
    left = "import subprocess; print(subprocess.Popen(['sleep', '1000']).pid)"
    done = await script(tmp_path, left).run(60)

    await until(lambda: not alive(int(done.output)))


async def test_what_leaves_the_group_does_not_hold_the_grader_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vibench_gym.grading.vibench.scripts._DRAIN_S", 0.2)
    left = "import subprocess as s; print(s.Popen(['sleep', '1000'], start_new_session=True).pid)"
    done = await script(tmp_path, left).run(60)

    os.kill(int(done.output), signal.SIGKILL)


async def test_what_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        await script(tmp_path / "none", "").run(60)


def alive(pid: int) -> bool:
    """Whether it runs: what nobody has waited for yet does not."""
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


def test_little_output_is_kept_whole() -> None:
    output = Output(100)
    for _ in range(9):
        output.add(b"0123456789")

    assert output.text() == "0123456789" * 9
