# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What apps are run with: Python, Node, PostgreSQL and ripgrep, found on this host and probed.

Boxes see each read-only at a fixed place, on every layout of the host.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.stack.cache import cache_root
from vibench_gym.stack.toolchain.node import AppNode, find_node
from vibench_gym.stack.toolchain.postgres import PostgresBinaries, find_postgres
from vibench_gym.stack.toolchain.python import AppPython, find_app_python
from vibench_gym.stack.toolchain.ripgrep import Ripgrep, find_ripgrep

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import StackConfig


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Everything an app is run with."""

    python: AppPython
    node: AppNode
    postgres: PostgresBinaries
    ripgrep: Ripgrep
    """In every box, so that what works while an app is built works when it is graded."""

    @property
    def key(self) -> str:
        """Changes whenever templates made with this toolchain must be made anew."""
        parts = (
            self.python.version,
            str(self.python.prefix),
            self.postgres.version,
            str(self.postgres.bin_dir),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        """What every box of a stack sees of it, as (place in the box, folder of the host)."""
        parts = (self.python, self.node, self.postgres, self.ripgrep)
        return tuple(mount for part in parts for mount in part.mounts)

    @property
    def path(self) -> str:
        """The PATH of an app's processes: its own virtualenv and npm prefix first."""
        folders = (
            "/venv/bin",
            "/home/app/.local/bin",
            self.node.box_bin,
            self.postgres.box_bin,
            self.ripgrep.box_bin,
            "/usr/local/bin",
            "/usr/bin",
            "/bin",
            "/usr/sbin",
            "/sbin",
        )
        return ":".join(dict.fromkeys(folders))


def find_toolchain(config: StackConfig) -> Toolchain:
    """Find and probe all parts; blocks for a second or two the first time.

    Raises:
        PrerequisiteMissing: a part is not there; says how to install it.
    """
    cache = cache_root(config)
    return Toolchain(
        python=find_app_python(config.app_python),
        node=find_node(cache),
        postgres=find_postgres(config.pg_bin_dir, cache),
        ripgrep=find_ripgrep(cache),
    )
