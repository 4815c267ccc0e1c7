# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Removes folders of any depth, by the system's tools. Standard library only: a janitor does it."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_REMOVE_TIMEOUT_S = 60.0


def remove_tree(path: Path) -> bool:
    """Remove a folder of any depth and of any modes; False if something is left of it."""
    environment = {"LC_ALL": "C"}
    commands = [["/usr/bin/rm", "-rf", "--one-file-system", "--", str(path)]]
    if os.geteuid() != 0:
        commands.insert(0, ["/usr/bin/chmod", "-R", "u+rwX", "--", str(path)])
    for command in commands:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603  fixed tools, our own path
                command,
                env=environment,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_REMOVE_TIMEOUT_S,
            )
    return not os.path.lexists(path)
