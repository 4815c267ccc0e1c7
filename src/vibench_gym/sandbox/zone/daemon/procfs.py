# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the zone daemon reads from /proc: processes, memory, ports. Everything read is bounded.

Standard library only: the zone daemon imports this.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LISTEN = "0A"
_MAX_TABLE = 4 * 1024 * 1024
_MAX_PROCESSES = 20_000


def parents() -> dict[int, int]:
    """Every process that the daemon sees, with its parent."""
    return _stat_field(1)


def in_session(session: int) -> list[int]:
    """The processes of a session, which has the pid of the process that began it."""
    return [pid for pid, of in _stat_field(3).items() if of == session]


def _stat_field(index: int) -> dict[int, int]:
    """A number of each process's `stat`, counted from the process's state on."""
    values = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _read(f"/proc/{name}/stat", 4096).rpartition(")")[2].split()
            if len(fields) > index:
                values[int(name)] = int(fields[index])
        if len(values) >= _MAX_PROCESSES:
            break
    return values


def descendants_of(root: int, parent_of: dict[int, int]) -> list[int]:
    """The processes below one, itself not included."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_of.items():
        children.setdefault(parent, []).append(pid)
    descendants: list[int] = []
    waiting = [root]
    while waiting:
        kids = children.get(waiting.pop(), [])
        descendants += kids
        waiting += kids
    return descendants


def resident_bytes(pids: list[int]) -> int:
    """Resident memory; what several share is counted for each."""
    total = 0
    for pid in pids:
        fields = _read(f"/proc/{pid}/statm", 256).split()
        total += int(fields[1]) * _PAGE if len(fields) > 1 else 0
    return total


def proportional_bytes(pids: list[int]) -> int:
    """Resident memory, each shared page counted once in all; slower than `resident_bytes`."""
    total = 0
    for pid in pids:
        for line in _read(f"/proc/{pid}/smaps_rollup", 4096).splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
                break
    return total


def exceeds_memory(pids: list[int], limit: int) -> bool:
    """Whether processes together use more than they may."""
    return resident_bytes(pids) > limit and proportional_bytes(pids) > limit


def memory_folder_bytes(pid: int, folders: Iterable[str]) -> int:
    """Space used in file systems in memory that a box has of its own, seen through a process."""
    total = 0
    for folder in folders:
        try:
            space = os.statvfs(f"/proc/{pid}/root{folder}")
        except OSError:
            continue
        total += (space.f_blocks - space.f_bfree) * space.f_frsize
    return total


def listening_ports() -> list[int]:
    """TCP ports on which something in this network namespace listens."""
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in _read(f"/proc/net/{table}", _MAX_TABLE).splitlines()[1:]:
            fields = line.split()
            if fields[3:4] == [_LISTEN]:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(ports)


def _read(path: str, limit: int) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
