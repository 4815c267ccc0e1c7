# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Removes what is left when the grader is killed: folders, control groups, containers.

A process in a session of its own, started with the first entry; it waits for the grader's end. Code
that cleans up normally strikes its entries off the list (`janitor_list`); what is still on the list
when the grader is gone is removed here. Standard library only.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from vibench_gym.sandbox.cleanup import docker_labels
from vibench_gym.sandbox.cleanup.janitor_list import (
    JanitorList,
    read_until_owner_ends,
)
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.control_groups import remove_zone

_TRIES_FOR_S = 8.0


_list = JanitorList("vibench_gym.sandbox.cleanup.janitor")


def register(path: Path | str, kind: str) -> None:
    """Have a folder ("tree") or control group ("cgroup") removed if this process is killed.

    What is labelled in a Docker engine ("docker") is named by `docker_labels.entry`.
    """
    _list.add(str(path), kind)


def forget(path: Path | str) -> None:
    """Strike an entry off the list, after it was removed."""
    _list.strike(str(path))


def _clean(entries: dict[str, str]) -> None:
    # Containers first: folders are mounted in them. Each takes seconds, so all go at once.
    labelled = [path for path, kind in entries.items() if kind == docker_labels.KIND]
    remove = docker_labels.remove_until_quiet
    sweeps = [threading.Thread(target=remove, args=(entry,)) for entry in labelled]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    for path in labelled:
        del entries[path]
    deadline = time.monotonic() + _TRIES_FOR_S
    while entries and time.monotonic() < deadline:
        for path, kind in list(entries.items()):
            done = remove_zone([path], 0.1) if kind == "cgroup" else remove_tree(Path(path))
            if done:
                del entries[path]
        time.sleep(0.05)


def main() -> None:
    """Wait until the grader, whose pid is the last argument, is gone; then clean up."""
    _clean(read_until_owner_ends(int(sys.argv[-1])))
