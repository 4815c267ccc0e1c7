# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Small images for tests, made of this host's own programs: no image registry is asked."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SHELL = ("sh", "sleep", "cat", "cp", "rm", "mkdir", "chmod", "ln", "env", "true", "head", "test")

SLEEPS = 'CMD ["sleep", "1000"]'


def import_image(
    tag: str, programs: Iterable[str] = SHELL, scripts: Mapping[str, str] | None = None
) -> None:
    """Make an image of these programs, the libraries they need, and shell scripts by path.

    It sleeps when nothing else is asked of it.

    Raises:
        RuntimeError: a program is not on this host, or the engine does not take the image.
    """
    done = subprocess.run(
        ["docker", "import", "--change", "ENV PATH=/bin", "--change", SLEEPS, "-", tag],
        input=_archive(programs, scripts or {}),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"docker import: {done.stderr.decode(errors='replace')}")


def left_of(token: str) -> list[str]:
    """All on the engine that carries a word in its name or in the label `stub`."""
    named, labelled = f"--filter=name={token}", f"--filter=label=stub={token}"
    asks = [
        ("container", "ls", "--all", named),
        ("container", "ls", "--all", labelled),
        ("network", "ls", named),
        ("volume", "ls", named),
        ("image", "ls", "--all", labelled),
    ]
    return [name for ask in asks for name in _docker(*ask, "--quiet").split()]


def _docker(*arguments: str) -> str:
    done = subprocess.run(
        ["docker", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _archive(programs: Iterable[str], scripts: Mapping[str, str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in ("tmp", "etc", "bin", "usr"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(folder)
        link = tarfile.TarInfo("usr/bin")
        link.type, link.linkname = tarfile.SYMTYPE, "../bin"
        tar.addfile(link)
        for path, text in scripts.items():
            script = tarfile.TarInfo(path.lstrip("/"))
            script.size, script.mode = len(text.encode()), 0o755
            tar.addfile(script, io.BytesIO(text.encode()))
        seen: set[str] = set()
        for name in programs:
            found = shutil.which(name)
            if found is None:
                raise RuntimeError(f"no {name!r} on this host")
            tar.add(Path(found).resolve(), f"bin/{name}")
            for library in _libraries(Path(found)):
                if library not in seen:
                    seen.add(library)
                    tar.add(Path(library).resolve(), library.lstrip("/"))
    return data.getvalue()


def _libraries(program: Path) -> Iterator[str]:
    listed = subprocess.run(
        ["ldd", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    yield from re.findall(r"(/\S+) \(0x", listed.stdout)
