# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A machine without Python 3.13 gets one through uv, and uv through the Python that is there."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "python313.sh"
pytestmark = pytest.mark.long


def older_python() -> Path:
    """The distribution's Python, where that is not 3.13."""
    program = Path("/usr/bin/python3")
    if not program.exists():
        pytest.skip("the distribution has no Python")
    asked = [str(program), "-c", "import sys, pip; print(sys.version_info[:2] == (3, 13))"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    if done.stdout.strip() != "False":
        pytest.skip("the distribution's Python is 3.13, or has no pip")
    return program


def downloads_with_this_python(folder: Path) -> Path:
    """What uv reads its downloads from, with this very Python as the only one."""
    archive = folder / "python.tar.gz"
    prefix = Path(sys.base_prefix)

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        left_out = ("/site-packages/", "/test/", "/__pycache__", "/share/", "/config-3")
        return None if any(part in f"{member.name}/" for part in left_out) else member

    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for name in ("bin", "lib"):
            tar.add(prefix / name, f"python/{name}", filter=kept)
    machine = platform.machine()
    entry = {
        "name": "cpython",
        "arch": {"family": machine, "variant": None},
        "os": "linux",
        "libc": "gnu",
        **dict(zip(("major", "minor", "patch"), sys.version_info[:3], strict=True)),
        "prerelease": "",
        "url": archive.as_uri(),
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "variant": None,
        "build": "20240101",
    }
    listed = folder / "downloads.json"
    listed.write_text(json.dumps({f"cpython-3.13.0-linux-{machine}-gnu": entry}))
    return listed


def run(home: Path, downloads: Path) -> subprocess.CompletedProcess[str]:
    """The script on a PATH that has an older Python and no uv, with a home of its own."""
    programs = home / "bin"
    programs.mkdir(parents=True)
    for name in ("bash", "cat", "dirname", "env", "grep", "id", "mktemp", "rm", "sed", "tail"):
        (programs / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    (programs / "python3").symlink_to(older_python())
    # Package clients find their registry as they do outside.
    kept = {k: v for k, v in os.environ.items() if k.endswith(("_CERT", "_FILE")) or "PIP_" in k}
    environment = {
        **kept,
        "PATH": str(programs),
        "HOME": str(home),
        "LD_LIBRARY_PATH": f"{sys.base_prefix}/lib",
        "UV_PYTHON_DOWNLOADS_JSON_URL": downloads.as_uri(),
    }
    return subprocess.run(
        [SCRIPT], env=environment, capture_output=True, text=True, check=False, timeout=240
    )


def test_python_comes_through_uv(tmp_path: Path) -> None:
    done = run(tmp_path / "home", downloads_with_this_python(tmp_path))
    assert done.returncode == 0, done.stderr
    python = Path(done.stdout.strip())
    assert python.is_relative_to(tmp_path / "home")
    asked = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    assert subprocess.check_output(asked, text=True, timeout=60).split() == ["3", "13"]


def test_what_cannot_be_fetched_is_named_with_the_command(tmp_path: Path) -> None:
    nothing = tmp_path / "downloads.json"
    nothing.write_text("{}")
    done = run(tmp_path / "home", nothing)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "uv cannot fetch Python 3.13" in done.stderr
    assert "run this, then make setup again: " in done.stderr
