# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds a program that a wheel installed, by the wheel's own list of files."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path


def wheel_program(wheel: str, name: str) -> Path | None:
    """The program's path; None where the wheel, or the program in it, is not installed."""
    try:
        held = importlib.metadata.files(wheel) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    # The list leads out of site-packages by `..`; a link on the way is the virtualenv's own.
    paths = (Path(os.path.abspath(file.locate())) for file in held if file.name == name)  # noqa: PTH100
    return next((path for path in paths if path.exists()), None)
