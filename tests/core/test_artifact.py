# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.artifact import ArtifactStore, tree_sha256
from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.status import ArtifactStatus

if TYPE_CHECKING:
    from pathlib import Path


def test_a_store_gives_back_by_content(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / "store")
    archive = tmp_path / "a.tar"
    archive.write_bytes(b"app")
    key = store.put(archive)
    assert key == hashlib.sha256(b"app").hexdigest() == store.put(archive)
    assert store.path(key).read_bytes() == b"app"
    assert [path.name for path in store.root.iterdir()] == [key[:2]]


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "0" * 64, "A" * 64])
def test_only_a_stored_digest_is_a_key(tmp_path: Path, key: str) -> None:
    with pytest.raises(ArtifactRejected) as caught:
        ArtifactStore(tmp_path).path(key)
    assert caught.value.status is ArtifactStatus.MISSING


def test_a_trees_digest_is_about_content(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root in (one, two):
        (root / "sub").mkdir(parents=True)
        (root / "sub/run.sh").write_text("x")
        (root / "link").symlink_to("sub")
    os.mkfifo(two / "fifo")
    assert tree_sha256(one) == tree_sha256(two)
    before = tree_sha256(one)
    (one / "sub/run.sh").chmod(0o755)
    assert tree_sha256(one) != before
    (two / "sub/run.sh").write_text("y")
    assert tree_sha256(two) != before


def test_a_missing_tree_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tree_sha256(tmp_path / "nowhere")
