# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How our programs of the standard library are started: without site-packages or environment.

The zone daemon, the janitors and their kin start often and hold privileges: they load little, and
nothing that was installed or set in the environment reaches them. Standard library only.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def isolated_python(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of our stdlib-only modules, without site-packages."""
    code = f"import sys; sys.path.append(sys.argv.pop(1)); from {module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", code, str(_PACKAGE.parent), *arguments]
