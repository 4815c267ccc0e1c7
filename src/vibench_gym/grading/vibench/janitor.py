# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Cleans up after runs of ViBench's scripts when the grader is killed. Standard library only.

A process in a session of its own that has a list of runs and waits for the grader's end. It then
ends the scripts that still run, removes what they made on the Docker engine, and removes their
folders: in this order, because the folder holds the ledger. It gets no credentials.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from dataclasses import asdict, dataclass

from vibench_gym.grading.vibench import docker_objects
from vibench_gym.sandbox.cleanup.janitor_list import (
    JanitorList,
    read_until_owner_ends,
)

_REMOVE_FOR_S = 120.0


@dataclass(frozen=True, slots=True)
class Run:
    """What the janitor has to know of a run."""

    run: str
    folder: str
    docker: str
    environment: dict[str, str]
    """For the docker client: where the engine is."""


_list = JanitorList("vibench_gym.grading.vibench.janitor")


def register(run: Run) -> None:
    """Have a run cleaned up if this process is killed."""
    _list.add(run.run, asdict(run))


def started(run: str, pid: int) -> None:
    """Put a script of a run on the list; it leads a process group of its own."""
    _list.add(f"{run} {pid}", pid)


def ended(run: str, pid: int) -> None:
    """Strike a script off the list, when its process group is gone."""
    _list.strike(f"{run} {pid}")


def forget(run: str) -> None:
    """Strike a run off the list, after its scripts have ended and it was cleaned up."""
    _list.strike(run)


def main() -> None:
    """Wait until the grader, whose pid is the last argument, is gone; then clean up."""
    entries = read_until_owner_ends(int(sys.argv[-1])).values()
    for pid in [entry for entry in entries if isinstance(entry, int)]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for run in [Run(**entry) for entry in entries if isinstance(entry, dict)]:
        docker_objects.remove(run.docker, run.environment, run.run, run.folder, _REMOVE_FOR_S)
        shutil.rmtree(run.folder, ignore_errors=True)
