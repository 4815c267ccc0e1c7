# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The Python that apps run on: 3.12 as the benchmark promises, else 3.11, else 3.13.

Most pinned requirements of real apps have no wheels for 3.13, so the order matters and the version
is part of a run's record. The interpreter is the operator's, never the grader's own virtualenv.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = ("3.12", "3.11", "3.13")
BOX_PREFIX = "/opt/python"
_PROBE = """
import ensurepip, json, ssl, sys, sysconfig, venv
print(json.dumps({
    "version": sys.version.split()[0],
    "prefix": sys.base_prefix,
    "executable": getattr(sys, "_base_executable", sys.executable),
    "shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED")),
    "limit": sys.version_info[:2],
}))
"""


@dataclass(frozen=True, slots=True)
class AppPython:
    """An interpreter of the host and where a box sees it."""

    version: str
    prefix: Path
    shared: bool
    """Built with a shared libpython, found by an absolute path below the prefix."""

    @property
    def series(self) -> str:
        """`3.12`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def in_system(self) -> bool:
        """Whether it is part of `/usr`, which every box sees anyway."""
        return self.prefix == Path("/usr")

    @property
    def box_executable(self) -> str:
        """Path of the interpreter inside a box."""
        prefix = "/usr" if self.in_system else BOX_PREFIX
        return f"{prefix}/bin/python{self.series}"

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        """What a box has to see, as (place in the box, folder of the host), read-only."""
        if self.in_system:
            return ()
        if self.shared:
            # The run path in the executable names the prefix it was built for.
            return ((BOX_PREFIX, self.prefix), (str(self.prefix), self.prefix))
        return ((BOX_PREFIX, self.prefix),)


def find_app_python(configured: Path | None = None) -> AppPython:
    """The configured interpreter, else the best one found.

    Raises:
        PrerequisiteMissing: none works, or the configured one does not.
    """
    if configured is not None:
        found = _probe(configured)
        if found is None:
            raise PrerequisiteMissing(
                f"the configured app Python {str(configured)!r} does not run or lacks venv and ssl",
                "set app_python to a complete Python 3.12",
            )
        return found
    for series in VERSIONS:
        for candidate in _candidates(series):
            found = _probe(candidate)
            if found is not None and found.series == series:
                return found
    raise PrerequisiteMissing(
        "no Python 3.12, 3.11 or 3.13 with venv was found for the apps",
        "uv python install 3.12",
    )


def _candidates(series: str) -> Iterator[Path]:
    # pyenv's shims run what a folder's .python-version says, so its versions come directly.
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which(f"python{series}", path=folder) if folder else None
        if found and "shims" not in Path(found).parts:
            yield Path(found)
    for root in _version_roots():
        if root.is_dir():
            matching = (p for p in root.iterdir() if f"{series}." in p.name or p.name == series)
            for version in sorted(matching, key=_patch_level, reverse=True):
                yield version / "bin" / f"python{series}"
    yield Path(f"/usr/bin/python{series}")


def _version_roots() -> tuple[Path, ...]:
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    uv_pythons = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    return (pyenv / "versions", uv_pythons)


def _patch_level(path: Path) -> tuple[int, ...]:
    digits = "".join(c if c.isdigit() else " " for c in path.name).split()
    return tuple(int(number) for number in digits[:3])


def _probe(executable: Path) -> AppPython | None:
    env = {"PATH": os.defpath, "HOME": str(Path.home())}
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter of the operator's
            [executable, "-I", "-c", _PROBE],
            capture_output=True,
            check=True,
            timeout=20,
            env=env,
            stdin=subprocess.DEVNULL,
        )
        facts = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    prefix = Path(facts["prefix"]).resolve()
    series = ".".join(map(str, facts["limit"]))
    if not (prefix / "bin" / f"python{series}").exists():
        return None
    return AppPython(version=facts["version"], prefix=prefix, shared=facts["shared"])
