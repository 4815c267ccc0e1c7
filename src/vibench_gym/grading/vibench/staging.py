# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Copies trees for ViBench's scripts, which follow links on the host and source files.

What the scripts copy has passed through `unpack` (nothing leads out) and holds no link at all.
These functions block: call them through `asyncio.to_thread`.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ArtifactRejected, SandboxUnavailable, SeedingFailed
from vibench_gym.sandbox.archive.unpack import unpack
from vibench_gym.stack.envfile import ENV_FILE, MAX_BYTES, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vibench_gym.core.config import ArchiveBudget

SEED_SCRIPT: Final = "seed.sh"
_IGNORE_FILE: Final = ".dockerignore"


def stage_app(app: Path, destination: Path, budget: ArchiveBudget) -> tuple[str, ...]:
    """Copy an app for the scripts; what could not be kept, by name.

    Raises:
        ArtifactRejected: it is not what was unpacked before.
        SandboxUnavailable: our own file system failed.
    """
    report = unpack(app, destination, budget)
    dropped = (*report.dropped_names, *_without_links(destination, budget.logical_bytes))
    ignore = destination / _IGNORE_FILE
    if ignore.exists() and not _is_text(ignore):
        # The scripts read it as text and would take the app's fault for one of their own.
        shutil.rmtree(ignore) if ignore.is_dir() else ignore.unlink()
        dropped = (*dropped, f"{_IGNORE_FILE}: is no text")
    return dropped


def stage_seeding(seeding: Path, destination: Path, budget: ArchiveBudget) -> tuple[str, ...]:
    """Copy what the seeding agent left, its environment file as data; what was dropped, by name.

    Raises:
        SeedingFailed: there is no script in it, or it is too large.
        SandboxUnavailable: our own file system failed.
    """
    if not seeding.is_dir() or seeding.is_symlink():
        raise SeedingFailed("the seeding agent left no 'seeding' folder")
    try:
        report = unpack(seeding, destination, budget)
    except ArtifactRejected as rejected:
        raise SeedingFailed(f"what the seeding agent left cannot be used: {rejected}") from rejected
    dropped = (*report.dropped_names, *_without_links(destination, budget.logical_bytes))
    if not (destination / SEED_SCRIPT).is_file():
        raise SeedingFailed(f"the seeding agent left no '{SEED_SCRIPT}'")
    _quote_environment(destination / ENV_FILE)
    return dropped


def _quote_environment(path: Path) -> None:
    """Leave assignments only: the judge's shell sources this file, and holds the graders' keys."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        values = parse(file.read(MAX_BYTES))
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in values.items()]
    path.write_text("".join(lines), encoding="utf-8", errors="surrogateescape")


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return True


def _without_links(root: Path, budget: int) -> tuple[str, ...]:
    """Put what links lead to in their places; what cannot be is dropped, and named.

    Raises:
        SandboxUnavailable: our own file system failed.
    """
    dropped: list[str] = []
    top = root.resolve()
    try:
        # Before any is replaced: where a link leads can depend on others.
        for link, target in [(link, Path(os.path.realpath(link))) for link in _links(top)]:
            size = _size(target)
            link.unlink()
            inside = target.is_relative_to(top) and target.exists()
            if not inside or link.is_relative_to(target) or size > budget:
                dropped.append(f"{link.relative_to(top)}: link that cannot be copied")
                continue
            budget -= size
            if target.is_dir():
                shutil.copytree(target, link, symlinks=True, ignore=_no_links)
            else:
                shutil.copyfile(target, link)
                shutil.copymode(target, link)
    except OSError as error:
        raise SandboxUnavailable(f"the app cannot be staged: {error}") from error
    return tuple(dropped)


def _links(root: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(root):
        for name in sorted([*folders, *files]):
            path = Path(parent, name)
            if path.is_symlink():
                yield path


def _no_links(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder, name).is_symlink()]


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if not path.is_dir():
        return path.stat().st_size if path.exists() else 0
    found = 0
    for parent, folders, files in os.walk(path):
        found += sum(os.lstat(Path(parent, name)).st_size for name in files) + 512 * len(folders)
    return found
