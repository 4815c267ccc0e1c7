# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the grader leaves nothing: no process, namespace, mount, control group or folder."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from vibench_gym.sandbox import control_groups
from vibench_gym.sandbox.cleanup.work_folder import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

pytestmark = pytest.mark.sandbox
OWNER = Path(__file__).with_name("doomed_owner.py")
GONE_WITHIN_S = 10.0


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])}


def _networks(pids: Iterable[int]) -> set[str]:
    """Network namespaces, other than ours, of processes."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found - {str(Path("/proc/self/ns/net").readlink())}


def _started_before(moment: float) -> list[int]:
    """Processes that were there at a time; younger ones may be in a namespace of the same number.

    The kernel gives the number of a namespace that is gone to the next one, another test's.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.create_time() < moment:
                found.append(process.pid)
    return found


def _processes_of(folder: Path, tag: str) -> list[str]:
    """Processes that the owner started, by what they were started with or run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes()
            if (
                str(folder).encode() in environment + command
                or f"sleep\x004321.{tag}".encode() in command
            ):
                found.append(command.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def _groups(tag: str) -> list[str]:
    places = set(control_groups.find_base().values())
    return [str(path) for place in places for path in Path(place).glob(f"doomed{tag}-*")]


@dataclass(frozen=True, slots=True)
class Seen:
    """What an owner had before it was killed."""

    processes: Sequence[psutil.Process]
    networks: set[str]
    killed_at: float


def _remains(folder: Path, tag: str, seen: Seen | None = None) -> dict[str, object]:
    remains: dict[str, object] = {
        "processes": _processes_of(folder, tag),
        "seen": [process.pid for process in seen.processes if process.is_running()] if seen else (),
        "namespaces": _networks(_started_before(seen.killed_at)) & seen.networks if seen else (),
        "folders": sorted(path.name for path in folder.glob(f"{PREFIX}*")),
        "groups": _groups(tag),
        "mounts": str(folder) in Path("/proc/self/mountinfo").read_text(),
    }
    return {name: value for name, value in remains.items() if value}


@pytest.mark.parametrize("attempt", range(4))
def test_nothing_is_left_when_the_owner_is_killed(attempt: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, tag = Path(name), str(random.randrange(10**9))  # noqa: S311
        owner = subprocess.Popen(
            [sys.executable, str(OWNER), tag],
            stdout=subprocess.PIPE,
            env=_environment(folder),
        )
        assert owner.stdout is not None
        try:
            assert owner.stdout.readline() == b"standing\n"
            # The later the attempt, the further into opening and closing more zones.
            time.sleep(random.random() * attempt)  # noqa: S311
            processes = psutil.Process(owner.pid).children(recursive=True)
            networks = _networks(process.pid for process in processes)
            assert networks
        finally:
            owner.send_signal(signal.SIGKILL)
            owner.wait(10)
            owner.stdout.close()
        seen = Seen(processes, networks, time.time())
        deadline = time.monotonic() + GONE_WITHIN_S
        while (remains := _remains(folder, tag, seen)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not remains


def test_nothing_is_left_when_the_owner_is_killed_while_it_opens_its_first_zone() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, tag = Path(name), str(random.randrange(10**9))  # noqa: S311
        for delay in (0.2, 0.35, 0.5):
            owner = subprocess.Popen(
                [sys.executable, str(OWNER), tag],
                stdout=subprocess.DEVNULL,
                env=_environment(folder),
            )
            time.sleep(delay)
            owner.kill()
            owner.wait(10)
        deadline = time.monotonic() + GONE_WITHIN_S
        while (remains := _remains(folder, tag)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not remains
