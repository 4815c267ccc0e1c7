# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse members in every dialect, from GNU tar where it is installed."""

from __future__ import annotations

import io
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.sandbox.archive.unpack import unpack

if TYPE_CHECKING:
    from pathlib import Path

DIALECTS = [
    ("--format=gnu",),
    ("--format=posix", "--sparse-version=0.0"),
    ("--format=posix", "--sparse-version=0.1"),
    ("--format=posix", "--sparse-version=1.0"),
]
pytestmark = pytest.mark.skipif(shutil.which("tar") is None, reason="no tar")


def packed(folder: Path, dialect: tuple[str, ...]) -> Path:
    archive = folder.parent / "a.tar"
    command = ["tar", "-C", str(folder), *dialect, "-S", "-cf", str(archive), "."]
    subprocess.run(command, check=True, timeout=60)
    return archive


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("pieces", [1, 30])
def test_a_sparse_file_comes_out_whole(
    tmp_path: Path, dialect: tuple[str, ...], pieces: int
) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    with (folder / "sparse").open("wb") as file:
        for number in range(pieces):
            file.seek(number * 200_000 + 100_000, io.SEEK_SET)
            file.write(b"data%d" % number)
        file.truncate(pieces * 200_000 + 50_000)
    (folder / "after").write_text("next")
    report = unpack(packed(folder, dialect), tmp_path / "out")
    assert (tmp_path / "out/sparse").read_bytes() == (folder / "sparse").read_bytes()
    assert (tmp_path / "out/after").read_text() == "next"
    assert report.bytes == pieces * 200_000 + 50_000 + 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_sparse_giant_is_too_large(tmp_path: Path, dialect: tuple[str, ...]) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    with (folder / "sparse").open("wb") as file:
        file.truncate(50 << 30)
    archive = packed(folder, dialect)
    assert archive.stat().st_size < 100_000
    with pytest.raises(ArtifactRejected) as caught:
        unpack(archive, tmp_path / "out")
    assert caught.value.status is ArtifactStatus.TOO_LARGE
