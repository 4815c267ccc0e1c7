# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Installs the pinned OpenCode from npm.

`python -m vibench_gym.gym.agent.harnesses.opencode.install`.

Only the package that holds the program for this processor is installed, at one version; npm itself
checks it against the digest below, and no install script runs. Idempotent, and safe when several
processes run it at once. The npm configuration names the registry.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.gym.agent.harnesses.base import Program
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
from vibench_gym.stack.cache import cache_root, locked
from vibench_gym.stack.toolchain.node import find_node

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "1.18.33"
BOX_FOLDER = "/opt/opencode"
INSTALL_TIMEOUT_S = 600.0
_FIX = "make setup, or python -m vibench_gym.gym.agent.harnesses.opencode.install"
_PACKAGES = {
    "x86_64": "opencode-linux-x64",
    "x86_64-baseline": "opencode-linux-x64-baseline",
    "aarch64": "opencode-linux-arm64",
}
_INTEGRITY = {
    "opencode-linux-x64": (
        "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMN"
        "RqiKQjiAWw=="
    ),
    "opencode-linux-x64-baseline": (
        "sha512-1KQGBiiDDeL/VHHbHkOvvFo8Jr97WT5+C1tear+p7IcDTnXgVHXqIjU4O4jM4mHQzykTP2i884FC"
        "nW5LDa+zCA=="
    ),
}
"""Known digests; of a package that is not here, npm checks the digest of its registry."""


def package() -> str:
    """The npm package with the program for this processor.

    Raises:
        PrerequisiteMissing: there is none.
    """
    machine = platform.machine()
    if machine == "x86_64" and not _has_avx2():
        machine = "x86_64-baseline"
    name = _PACKAGES.get(machine)
    if name is None or sys.platform != "linux":
        raise PrerequisiteMissing(
            f"OpenCode has no build for {sys.platform} on {machine}", "use another harness"
        )
    return name


def find(folder: Path | None = None) -> Program | None:
    """OpenCode at the pinned version: in `folder`, else in this virtualenv, else in the cache."""
    name = package()
    for root in (folder,) if folder is not None else _places():
        place = root / "node_modules" / name
        if _version(place) == VERSION and os.access(place / "bin" / "opencode", os.X_OK):
            return Program(place.resolve(), BOX_FOLDER, "bin/opencode", VERSION)
    return None


def ensure(folder: Path | None = None) -> Program:
    """OpenCode at the pinned version, installed where it is missing; may block for a minute.

    Raises:
        PrerequisiteMissing: it cannot be installed.
    """
    found = find(folder)
    if found is not None:
        return found
    root = folder or cache_root() / "opencode" / VERSION
    with locked(root.parent / f".{root.name}.lock"):
        found = find(root)
        if found is None:
            _install(package(), root)
            found = find(root)
    if found is None:
        raise PrerequisiteMissing(f"npm installed no OpenCode {VERSION} in {str(root)!r}", _FIX)
    return found


def _places() -> Iterator[Path]:
    yield Path(sys.prefix) / "opencode"
    yield cache_root() / "opencode" / VERSION


def _install(name: str, root: Path) -> None:
    """Let npm fill `root`; what an interrupted run left is fetched again, as npm checks it."""
    root.mkdir(parents=True, exist_ok=True)
    wanted = {"name": "opencode-for-boxes", "private": True, "dependencies": {name: VERSION}}
    (root / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
    lock = root / "package-lock.json"
    lock.unlink(missing_ok=True)
    command = "install"
    if name in _INTEGRITY:
        command = "ci"
        held = {"version": VERSION, "integrity": _INTEGRITY[name]}
        packages = {"": wanted, f"node_modules/{name}": held}
        lock.write_text(
            json.dumps({**wanted, "lockfileVersion": 3, "requires": True, "packages": packages}),
            encoding="utf-8",
        )
    node = find_node(cache_root()).prefix / "bin"
    with WorkFolder("npm") as cache:
        argv = [str(node / "npm"), command, "--ignore-scripts", "--no-audit", "--no-fund"]
        env = {**os.environ, "PATH": f"{node}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        try:
            subprocess.run(  # noqa: S603 (the npm of our own Node)
                [*argv, "--no-update-notifier", "--cache", cache],
                cwd=root,
                env=env,
                check=True,
                capture_output=True,
                text=True,
                timeout=INSTALL_TIMEOUT_S,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout or "").strip()[-800:]
            raise PrerequisiteMissing(
                f"npm could not install {name}@{VERSION}: {said}", _FIX
            ) from None
        except (OSError, subprocess.SubprocessError) as error:
            raise PrerequisiteMissing(f"npm does not run: {error}", _FIX) from error


def _version(place: Path) -> str | None:
    try:
        held = json.loads((place / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return held.get("version") if isinstance(held, dict) else None


def _has_avx2() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return " avx2" in flags


def main() -> int:
    """Install into this virtualenv (or the folder given) and say where it is."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(sys.prefix) / "opencode"
    try:
        found = ensure(folder)
    except PrerequisiteMissing as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"OpenCode {found.version}: {found.folder / found.executable}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
