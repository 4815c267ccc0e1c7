# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The Chromium that is started inside an app's network namespace."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing

if TYPE_CHECKING:
    from collections.abc import Iterator

BOX_PREFIX = "/opt/chromium"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Distributions put a shell script on PATH that reads the user's settings; this is what it starts.
_REAL = ("/usr/lib/{name}/{name}", "/usr/lib64/{name}/{name}", "/usr/lib/{name}/chrome")


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser of the host and where a box sees it."""

    executable: Path

    @property
    def in_system(self) -> bool:
        """Whether it is part of `/usr`, which every box sees anyway."""
        return self.executable.is_relative_to("/usr")

    @property
    def box_executable(self) -> str:
        """Path of the program inside a box."""
        return str(self.executable) if self.in_system else f"{BOX_PREFIX}/{self.executable.name}"

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        """What a box has to see, as (place in the box, folder of the host), read-only."""
        return () if self.in_system else ((BOX_PREFIX, self.executable.parent),)


def find_chromium(configured: Path | None = None) -> Chromium:
    """The configured browser, else the system's, else the one Playwright installed.

    Raises:
        PrerequisiteMissing: there is none, or the configured one is not executable.
    """
    for candidate in [configured] if configured is not None else _candidates():
        real = _real_program(candidate)
        if real is not None:
            return Chromium(real)
    where = f"no Chromium at {str(configured)!r}" if configured else "Chromium was not found"
    raise PrerequisiteMissing(where, "apt-get install chromium, or playwright install chromium")


def _candidates() -> Iterator[Path]:
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            yield Path(found)
    cache = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    yield from sorted(Path(cache).glob("chromium-*/chrome-linux*/chrome"), reverse=True)


def _real_program(path: Path) -> Path | None:
    resolved = path.resolve()
    if not resolved.is_file() or not os.access(resolved, os.X_OK):
        return None
    with resolved.open("rb") as file:
        if file.read(2) != b"#!":
            return resolved
    for pattern in _REAL:
        real = Path(pattern.format(name=resolved.name))
        if real.is_file():
            return real
    sibling = resolved.parent / "chrome"
    return sibling if sibling.is_file() else None
