# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a command as an ordinary user of this machine, with the Python that root uses.

Root's Python often lives below a folder that only root may enter. In a mount namespace of its
own, such folders are covered and what the command needs is shown in them. Usage, as root:
`python ordinary_user.py COMMAND...`; the command runs as uid 54321 with a HOME of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import vibench_gym
from vibench_gym.sandbox.zone.daemon import mounts

UID = 54321
SOURCE = Path(vibench_gym.__file__).resolve().parents[1]
"""What is tested here is tested there: the user's Python may have another one installed."""


def _closed_ancestor(path: Path) -> Path | None:
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def _uncover(paths: list[Path], stage: Path) -> None:
    covered: dict[Path, list[tuple[Path, Path]]] = {}
    for number, path in enumerate(paths):
        closed = _closed_ancestor(path)
        if closed is not None:
            place = stage / str(number)
            place.mkdir()
            mounts.bind(str(path), str(place))
            covered.setdefault(closed, []).append((place, path))
    for closed, pairs in covered.items():
        mounts.tmpfs(str(closed), size=1024 * 1024, inodes=1000)
        for place, path in pairs:
            path.mkdir(parents=True)
            mounts.bind(str(place), str(path))


def main() -> None:
    """Become the ordinary user and run the command."""
    os.unshare(os.CLONE_NEWNS)
    mounts.mount("none", "/", "", mounts.MS_REC | mounts.MS_PRIVATE)
    with tempfile.TemporaryDirectory(delete=False) as stage:
        # Only this namespace ever sees what is mounted here; the empty folder goes at once.
        mounts.tmpfs(stage, size=2 * 1024**3, inodes=200_000)
        here = Path(__file__).resolve().parents[3]
        needed = {Path(sys.base_prefix), Path(sys.prefix), here}
        needed |= set() if SOURCE.is_relative_to(here) else {SOURCE}
        _uncover(sorted(needed), Path(stage))
        home = Path(stage) / "home"
        home.mkdir(mode=0o700)
        os.chown(home, UID, UID)
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    environment = {"HOME": str(home), "TMPDIR": str(home), "PATH": "/usr/bin:/bin"}
    environment["PYTHONPATH"] = str(SOURCE)
    os.execve(sys.argv[1], sys.argv[1:], environment)  # noqa: S606 (no shell wanted)


if __name__ == "__main__":
    main()
