# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that run without site-packages import little: the standard library and each other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from vibench_gym.sandbox import isolated_python as isolated
from vibench_gym.sandbox.zone import daemon

LIST_MODULES = """
import sys
sys.path.append(sys.argv[1])
import vibench_gym.sandbox.{module}
print(*(name for name in sys.modules if name != "__main__"), sep="\\n")
"""
ALLOWED = ("zone.daemon", "locks", "control_groups")
SLOW = {"pathlib", "dataclasses", "typing", "contextlib", "asyncio", "subprocess"}
"""What would make every zone wait for its daemon."""
PACKAGE = Path(isolated.__file__).parents[2]
MODULES = sorted(
    f"zone.daemon.{path.stem}" for path in Path(daemon.__file__).parent.glob("[!_]*.py")
)


def _modules_loaded_by(module: str) -> set[str]:
    code = LIST_MODULES.format(module=module)
    command = isolated.isolated_python("unused", str(PACKAGE))
    argv = [*command[: command.index("-c")], "-c", code, str(PACKAGE)]
    done = subprocess.run(argv, env={}, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", [*MODULES, "cleanup.janitor"])
def test_no_package_but_ours_is_imported(module: str) -> None:
    loaded = _modules_loaded_by(module)
    ours = {name.removeprefix("vibench_gym.sandbox.") for name in loaded if "vibench" in name}
    allowed = (*ALLOWED, *(("cleanup", "isolated_python") if module == "cleanup.janitor" else ()))
    parents = {"vibench_gym", "vibench_gym.sandbox", "zone"}
    assert not {name for name in ours - parents if not name.startswith(allowed)}
    if module != "cleanup.janitor":
        assert not loaded & SLOW
