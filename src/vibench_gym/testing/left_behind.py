# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that code cleaned up: its processes, and all that was registered with the janitor.

Things that outlive a process (folders, control groups, containers) are registered with the janitor
before they are made. So the janitor's list has all of them, on every kind of stack.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vibench_gym.sandbox.cleanup import docker_labels
from vibench_gym.sandbox.cleanup.janitor_list import JanitorList
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENCE_S = 20.0
_POLL_S = 0.1


@contextlib.asynccontextmanager
async def nothing_left_behind() -> AsyncIterator[None]:
    """Fail if what was made within is still there some time after it.

    Raises:
        AssertionError: names what is left.
    """
    WorkFolder("first").remove()  # the first one starts the janitor, which stays
    earlier = _descendants()
    registered: dict[str, str] = {}
    add = JanitorList.add

    def watch(janitor_list: JanitorList, name: str, kind: str) -> None:
        registered[name] = kind
        add(janitor_list, name, kind)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JanitorList, "add", watch)
        yield
    deadline = time.monotonic() + PATIENCE_S
    while left := await asyncio.to_thread(_left, registered, earlier):
        if time.monotonic() > deadline:
            raise AssertionError(f"left behind: {', '.join(left)}")
        await asyncio.sleep(_POLL_S)


def _left(registered: dict[str, str], earlier: set[int]) -> list[str]:
    left = [f"process {pid}" for pid in _descendants() - earlier]
    for name, kind in registered.items():
        if kind == docker_labels.KIND:
            docker, env, label = json.loads(name)
            if not docker_labels.sweep(docker, env, label):
                left.append(label)
        elif os.path.lexists(name):
            left.append(name)
    return left


def _descendants() -> set[int]:
    """Processes that this one started, and those that they started."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found
