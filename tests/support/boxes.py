# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Short ways to say what runs in a box, for tests of zones."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from vibench_gym.core.config import ProcessLimits
from vibench_gym.sandbox.zone.box import Bind, BoxSpec

_PREFIX = Path(sys.base_prefix).resolve()
PYTHON = Bind(str(_PREFIX), source=_PREFIX)
"""This Python where it is on the host, for it may look for its library there; the folder is
often below one that only its owner may enter."""
APP = Bind("/app", state="app", writable=True)


def shell(script: str, limits: ProcessLimits | None = None) -> BoxSpec:
    """A box that runs a shell script as the app, which may write /app."""
    return BoxSpec(
        argv=("/bin/bash", "-c", script),
        user="app",
        env={},
        binds=(APP,),
        limits=limits or ProcessLimits(),
    )


def python(code: str, limits: ProcessLimits | None = None) -> BoxSpec:
    """A box that runs Python code as the app, which may write /app."""
    spec = shell("", limits)
    argv = (f"{_PREFIX}/bin/python3", "-I", "-c", code)
    return replace(spec, argv=argv, binds=(APP, PYTHON))
