# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Control groups for boxes where we may make any: version 1 as root, version 2 delegated.

Without them only the rlimits and the zone daemon's watchdog bound a box. Directories outlive
processes, so each zone's is on the janitor's list. Standard library only: the zone daemon and the
janitor import this.
"""

from __future__ import annotations

import os
import time

from vibench_gym.sandbox.locks import mark_alive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = "/sys/fs/cgroup"
PARENT = "vibench-gym"
CONTROLLERS = ("memory", "pids")
FAIRNESS = "cpu"
"""Where it can be had: many busy processes in one box then weigh no more than one."""


def find_base() -> dict[str, str]:
    """Where zones may make their groups, by controller; empty where nothing is delegated to us.

    Version 2 has one folder for both controllers.
    """
    own = _own_groups()
    if os.path.exists(f"{ROOT}/cgroup.controllers"):
        places = [ROOT + own.get("", "/"), ROOT] if os.geteuid() == 0 else [ROOT + own.get("", "/")]
        for place in places:
            enabled = _read(f"{place}/cgroup.subtree_control").split()
            if os.access(place, os.W_OK) and set(CONTROLLERS) <= set(enabled):
                controllers = (*CONTROLLERS, *([FAIRNESS] if FAIRNESS in enabled else []))
                return dict.fromkeys(controllers, f"{place.rstrip('/')}/{PARENT}")
        return {}
    base = {}
    for controller in (*CONTROLLERS, FAIRNESS):
        place = f"{ROOT}/{controller}{own.get(controller, '/')}".rstrip("/")
        if os.path.exists(f"{place}/cgroup.procs") and os.access(place, os.W_OK):
            base[controller] = f"{place}/{PARENT}"
    return base if set(CONTROLLERS) <= set(base) else {}


class BoxGroup:
    """The group of one box below its zone's: `<base>/<zone>/<box>`.

    Raises:
        OSError: the kernel refused.
    """

    def __init__(self, base: Mapping[str, str], box: str, *, memory: int, processes: int) -> None:
        self._folders = sorted({f"{place}/{box}" for place in base.values()})
        self._memory = f"{base['memory']}/{box}"
        unified = len(self._folders) == 1
        for folder in self._folders:
            os.makedirs(folder, exist_ok=True)
        _write(f"{base['pids']}/{box}/pids.max", str(processes))
        if unified:
            _write(f"{self._memory}/memory.max", str(memory))
            _write(f"{self._memory}/memory.oom.group", "1")
            self._events = f"{self._memory}/memory.events"
        else:
            _write(f"{self._memory}/memory.limit_in_bytes", str(memory))
            self._events = f"{self._memory}/memory.oom_control"
        _try_write(f"{self._memory}/memory.swap.max", "0")

    def join_paths(self) -> list[str]:
        """Files into which a process writes "0" to join."""
        return [f"{folder}/cgroup.procs" for folder in self._folders]

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of this box for its memory."""
        for line in _read(self._events).splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return count.strip() != "0"
        return False

    def remove(self) -> bool:
        """Remove the folders; False while the kernel still holds one."""
        return not [folder for folder in self._folders if not _rmdir(folder)]


def make_zone(base: Mapping[str, str], zone: str) -> dict[str, str]:
    """Make a zone's groups and return their folders by controller.

    Raises:
        OSError: the kernel refused.
    """
    folders = {controller: f"{place}/{zone}" for controller, place in base.items()}
    for folder in set(folders.values()):
        _make(folder)
    if len(set(folders.values())) == 1:
        for folder in (base["memory"], folders["memory"]):
            _write(f"{folder}/cgroup.subtree_control", " ".join(f"+{name}" for name in base))
    return folders


def remove_zone(folders: list[str], timeout_s: float = 2.0) -> bool:
    """Remove zones' folders with the boxes below; False if the kernel still holds one."""
    deadline = time.monotonic() + timeout_s
    while True:
        left = False
        for folder in folders:
            for name in _children(folder):
                _rmdir(f"{folder}/{name}")
            left = not _rmdir(folder) or left
        if not left or time.monotonic() > deadline:
            for folder in folders:
                _rmdir(os.path.dirname(folder))
            return not left
        time.sleep(0.02)


def _make(folder: str) -> None:
    """Make a zone's folder although another zone's end may remove the parent meanwhile.

    It stays marked as in use for as long as this process lives.
    """
    for _ in range(100):
        try:
            os.makedirs(folder, exist_ok=True)
        except FileNotFoundError:
            continue
        if mark_alive(folder) is not None:
            return


def _children(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _own_groups() -> dict[str, str]:
    groups = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _rmdir(folder: str) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read(65536)
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _try_write(path: str, text: str) -> None:
    if os.path.exists(path):
        _write(path, text)
