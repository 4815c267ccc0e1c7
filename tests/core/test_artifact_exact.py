# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The digest of one tree to the letter, and a store that makes its own folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.artifact import ArtifactStore, tree_sha256
from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.status import ArtifactStatus

if TYPE_CHECKING:
    from pathlib import Path

TREE = "6e7ab5b75f34adae68e4339e59193e0a751a99f4bba7ad55d0156edb508a60de"


def test_a_tree_has_this_digest_and_no_other(tmp_path: Path) -> None:
    """Stored answers and kept plans are found by it: it may not change unnoticed."""
    root = tmp_path / "app"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "file").write_bytes(b"text")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("deep/file")
    os.mkfifo(root / "pipe")
    assert tree_sha256(root) == TREE


def test_a_store_makes_its_folders(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"x")
    store = ArtifactStore(tmp_path / "not" / "there")
    key = store.put(tmp_path / "archive")
    assert store.path(key).read_bytes() == b"x"
    with pytest.raises(ArtifactRejected, match="no artifact '0000") as caught:
        store.path("0" * 64)
    assert caught.value.status is ArtifactStatus.MISSING
