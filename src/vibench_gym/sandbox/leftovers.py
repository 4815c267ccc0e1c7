# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What `vibench-gym gc` lists and removes: left on this host by a crash, or without a janitor.

Invariant: only what has one of our names, belongs to our user and is locked by nobody counts as
left behind, and it is removed while we hold its lock. A running grader locks all that it uses.
"""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vibench_gym.sandbox import control_groups
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.cleanup.work_folder import PREFIX, host_temporary_folder
from vibench_gym.sandbox.locks import try_claim
from vibench_gym.sandbox.zone import uids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Kind = Literal["mount", "folder", "control group", "lease", "slot"]
_FOLDER = re.compile(rf"{PREFIX}[a-z]+-[0-9a-f]{{12}}")
_ZONE = re.compile(r".+-[0-9a-f]{8}")
_NUMBER = re.compile(r"[0-9]{1,6}")
_MAX_DIRECTORIES = 100_000
_CACHE_DEPTH = 3
_GROUP_DEPTH = 12
_MNT_DETACH = 2


@dataclass(frozen=True, slots=True)
class LeftoverPaths:
    """Where leftovers are looked for; the defaults are where graders put things on this host."""

    temporary: tuple[Path, ...]
    cache: Path | None
    groups: Path
    leases: Path
    slots: Path

    @classmethod
    def of_host(cls, cache: Path | None) -> LeftoverPaths:
        """The places of this host; `cache` is the folder of templates and mirror, if any."""
        temporary = host_temporary_folder()
        usual = (temporary, Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 (looked at)
        return cls(
            temporary=tuple(dict.fromkeys(path.resolve() for path in usual if path.is_dir())),
            cache=cache,
            groups=Path(control_groups.ROOT),
            leases=uids.LEASES,
            slots=temporary / f"{PREFIX}{os.geteuid()}" / "grading-slots",
        )


@dataclass(frozen=True, slots=True)
class Leftover:
    """One thing that nobody uses any more."""

    kind: Kind
    path: Path

    def remove(self) -> bool:
        """Remove it; False if something of it is left, or somebody uses it by now.

        Blocks: use a thread.
        """
        if self.kind == "mount":
            return _unmount(self.path)
        claim = _claim(self.path)
        if claim is None:
            return not os.path.lexists(self.path)
        try:
            return _REMOVERS[self.kind](self.path)
        finally:
            os.close(claim)


def find_leftovers(places: LeftoverPaths) -> list[Leftover]:
    """Everything that was left behind, in the order in which it has to be removed."""
    folders = [path for path in _work_folders(places) if _unused(path)]
    mounts = [Leftover("mount", path) for path in _mounts_below(folders)]
    return [
        *mounts,
        *(Leftover("folder", path) for path in folders),
        *(Leftover("control group", path) for path in _groups(places.groups) if _unused(path)),
        *(Leftover("lease", path) for path in _numbered(places.leases) if _unused(path)),
        *(Leftover("slot", path) for path in _numbered(places.slots) if _unused(path)),
    ]


def _claim(path: Path) -> int | None:
    try:
        return try_claim(path)
    except OSError:  # not ours to open, or no folder or file any more
        return None


def _unused(path: Path) -> bool:
    claim = _claim(path)
    if claim is None:
        return False
    os.close(claim)
    return True


def _work_folders(places: LeftoverPaths) -> Iterator[Path]:
    for parent in places.temporary:
        yield from (path for path in _entries(parent) if _is_work_folder(path))
    if places.cache is not None:
        for path in _directories(places.cache, _CACHE_DEPTH):
            if _is_work_folder(path):
                yield path


def _is_work_folder(path: Path) -> bool:
    named = _FOLDER.fullmatch(path.name) is not None
    return named and _is_ours(path) and path.is_dir() and not path.is_symlink()


def _is_ours(path: Path) -> bool:
    """Whether it belongs to our user; root could open, and so claim, what anybody has."""
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _groups(root: Path) -> Iterator[Path]:
    """Our zones' control groups in which no process is."""
    for path in _directories(root, _GROUP_DEPTH):
        named = path.parent.name == control_groups.PARENT and _ZONE.fullmatch(path.name)
        if named and _is_ours(path) and _is_empty(path):
            yield path


def _is_empty(group: Path) -> bool:
    for folder in (group, *(path for path in _entries(group) if path.is_dir())):
        try:
            if (folder / "cgroup.procs").read_text().strip():
                return False
        except OSError:
            return False
    return True


def _numbered(folder: Path) -> Iterator[Path]:
    for path in _entries(folder):
        named = _NUMBER.fullmatch(path.name) is not None
        if named and _is_ours(path) and path.is_file() and not path.is_symlink():
            yield path


def _directories(root: Path, depth: int) -> Iterator[Path]:
    """Folders below one, parents first; links are not followed, and there is a bound."""
    waiting = [(root, 0)]
    seen = 0
    while waiting and seen < _MAX_DIRECTORIES:
        parent, level = waiting.pop()
        for path in _entries(parent):
            if path.is_symlink() or not path.is_dir():
                continue
            seen += 1
            yield path
            if level + 1 < depth and _FOLDER.fullmatch(path.name) is None:
                waiting.append((path, level + 1))


def _entries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries)
    except OSError:
        return []


def _mounts_below(folders: Sequence[Path]) -> list[Path]:
    """Mount points in these folders, the innermost first."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    points = [Path(_unescaped(line.split()[4])) for line in lines]
    return [
        point for point in reversed(points) if any(point.is_relative_to(path) for path in folders)
    ]


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _unmount(point: Path) -> bool:
    result: int = ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(point), _MNT_DETACH)
    return result == 0


def _remove_group(group: Path) -> bool:
    return control_groups.remove_zone([str(group)])


def _remove_file(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


_REMOVERS: dict[Kind, Callable[[Path], bool]] = {
    "folder": remove_tree,
    "control group": _remove_group,
    "lease": _remove_file,
    "slot": _remove_file,
}
