# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whether this virtualenv can run a server of NeMo Gym, by what the server says that it requires.

Nothing is imported or installed. What cannot be read, or is made up only while it is built, counts
as not met: NeMo Gym then makes a virtualenv for that server, as it does without us.
"""

from __future__ import annotations

import importlib.metadata
import tomllib
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement

if TYPE_CHECKING:
    from pathlib import Path

_GYM: Final = "nemo-gym"


def runs_here(server: Path) -> bool:
    """Whether all that a server of NeMo Gym requires is in this virtualenv."""
    listed = server / "requirements.txt"
    if listed.is_file():
        lines = listed.read_text(encoding="utf-8").splitlines()
        wanted = [line.partition(" #")[0].strip() for line in lines]
        return all(map(_is_met, filter(lambda line: line and not line.startswith("#"), wanted)))
    try:
        with (server / "pyproject.toml").open("rb") as file:
            project = tomllib.load(file).get("project", {})
    except (OSError, tomllib.TOMLDecodeError):
        return False
    # What is made up while it is built cannot be known here.
    return "dependencies" not in project.get("dynamic", ()) and all(
        map(_is_met, project.get("dependencies", ()))
    )


def _is_met(line: str) -> bool:
    if line.startswith("-e ") and line.removeprefix("-e ").lstrip().startswith(_GYM):
        return True  # NeMo Gym itself, as its own checkout names it
    try:
        wanted = Requirement(line)
        if wanted.name == _GYM or (wanted.marker is not None and not wanted.marker.evaluate()):
            return True
        held = importlib.metadata.version(wanted.name)
    except (InvalidRequirement, importlib.metadata.PackageNotFoundError):
        return False
    return wanted.url is None and wanted.specifier.contains(held, prereleases=True)
