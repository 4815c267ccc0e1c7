# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds and reads a task's files. No read leaves the task's folder, not even through a link."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.core.errors import Problem
from vibench_gym.core.tasks.plan import MAX_PLAN_BYTES, decode_plan

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_FILES = 20_000
"""Per folder of a task; more is a mistake (a dependency tree), not a task."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_ID = 100


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """The folder of one task, read without ever leaving it."""

    root: Path

    def __post_init__(self) -> None:
        if not self.root.is_absolute():
            object.__setattr__(self, "root", self.root.absolute())

    def relative(self, path: Path) -> str:
        """The path as records name it: relative to the task root, with forward slashes."""
        return path.relative_to(self.root).as_posix()

    def problem(self, path: Path, message: str) -> Problem:
        """A problem with a whole file or folder."""
        return Problem(str(path), 1, message)

    def stays_inside(self, path: Path) -> bool:
        """Whether the path, with every link followed, is below the task root."""
        try:
            return path.resolve(strict=True).is_relative_to(self.root.resolve(strict=True))
        except (OSError, RuntimeError):
            return False

    def read_text(self, path: Path) -> tuple[str | None, list[Problem]]:
        """The text of a regular file below the root, or why it cannot be had."""
        if not self.stays_inside(path):
            return None, [self.problem(path, "is missing or leads out of the task folder")]
        try:
            # O_NONBLOCK: a FIFO that is named like a plan must not hold us up.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None, [self.problem(path, "is not a regular file")]
                data = file.read(MAX_PLAN_BYTES + 1)
        except OSError as error:
            return None, [self.problem(path, f"cannot be read: {error.strerror}")]
        return decode_plan(data, str(path))

    def text_files(self, folder: Path) -> tuple[list[Path], list[Problem]]:
        """The `.txt` files below a folder in natural order (test2 before test10)."""
        found, problems = self._walk(folder)
        texts = [path for path in found if path.suffix.lower() == ".txt"]
        return sorted(texts, key=lambda path: natural_key(self.relative(path))), problems

    def check_folder(self, folder: Path) -> list[Problem]:
        """What in a folder of assets is no regular file or leads out of the task."""
        found, problems = self._walk(folder)
        for path in found:
            if not self.stays_inside(path):
                problems.append(self.problem(path, "leads out of the task folder"))
            elif not path.is_file():
                problems.append(self.problem(path, "is not a regular file"))
        return problems

    def _walk(self, folder: Path) -> tuple[list[Path], list[Problem]]:
        """Every visible entry below a folder that is no folder itself; links are not entered."""
        if not folder.is_dir():
            return [], []
        if not self.stays_inside(folder):
            return [], [self.problem(folder, "leads out of the task folder")]
        found: list[Path] = []
        for parent, folders, files in folder.walk(follow_symlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += [parent / name for name in sorted(files) if not name.startswith(".")]
            if len(found) > MAX_FILES:
                return [], [self.problem(folder, f"holds more than {MAX_FILES} files")]
        return found, []


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts numbers inside names by value, everything else by character."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts)


def folder_name(text: str) -> str:
    """The text as a safe folder name."""
    return _UNSAFE.sub("-", text)[:_MAX_ID].strip("-") or "plan"


def unique_ids(artifact: str, stems: Iterable[str]) -> list[str]:
    """`<artifact>.<stem>` for each stem, told apart by a suffix where two would be one folder."""
    taken: set[str] = set()
    ids: list[str] = []
    for stem in stems:
        base = candidate = f"{artifact}.{folder_name(stem)}"
        number = 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{base}-{number}"
        taken.add(candidate.casefold())
        ids.append(candidate)
    return ids
