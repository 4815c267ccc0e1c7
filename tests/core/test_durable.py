# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What is synced and in which order; what a power cut then leaves is tried in the red team."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from vibench_gym.core import durable


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was synced, made and renamed, in order."""
    told: list[str] = []
    real = {name: getattr(os, name) for name in ("fsync", "replace", "mkdir", "rmdir", "unlink")}

    def name_of(path: Any) -> str:
        return str(path).rsplit("/", 1)[-1]

    def fsync(descriptor: int) -> None:
        told.append(f"sync {name_of(Path(f'/proc/self/fd/{descriptor}').readlink())}")
        real["fsync"](descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    for call in ("replace", "mkdir", "rmdir", "unlink"):

        def noted(path: Any, *args: Any, call: str = call, **more: Any) -> None:
            told.append(f"{call} {name_of(args[0] if call == 'replace' else path)}")
            real[call](path, *args, **more)

        monkeypatch.setattr(os, call, noted)
    return told


def kept(calls: list[str]) -> list[str]:
    return [call for call in calls if not call.endswith(".tmp")]


def test_a_file_is_synced_then_named_and_its_folder_synced(
    tmp_path: Path, calls: list[str]
) -> None:
    path = tmp_path / "a" / "b" / "file"
    durable.write_atomic(path, "text")
    assert path.read_text() == "text"
    top = f"sync {tmp_path.name}"
    assert kept(calls) == ["mkdir a", top, "mkdir b", "sync a", "replace file", "sync b"]
    assert [call.startswith("sync .file.") for call in calls[4:5]] == [True]
    calls.clear()
    durable.write_atomic(path, b"more", lasting=False)
    assert path.read_bytes() == b"more"
    assert kept(calls) == ["replace file"]
    assert not any(call.startswith("sync") for call in calls)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    durable.write_atomic(path, "old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        durable.write_atomic(path, "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


@pytest.mark.parametrize(("code", "ours"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_file_system_without_folder_syncs_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, *, ours: bool
) -> None:
    def refused(_descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refused)
    if ours:
        with pytest.raises(OSError, match="Input/output"):
            durable.sync_folder(tmp_path)
    else:
        durable.sync_folder(tmp_path)
        durable.make_folder(tmp_path / "a" / "b")
        assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_is_removed_after_the_file_that_says_it_is_whole(
    tmp_path: Path, calls: list[str]
) -> None:
    durable.remove_folder(tmp_path / "none", first="whole")
    assert calls == []
    for name in ("a", "whole"):
        durable.write_atomic(tmp_path / "folder" / name, "")
    calls.clear()
    durable.remove_folder(tmp_path / "folder", first="whole")
    assert not (tmp_path / "folder").exists()
    assert calls == [*("unlink whole", "sync folder", "unlink a", "rmdir folder")]
    (tmp_path / "folder").mkdir()
    durable.remove_folder(tmp_path / "folder", first="whole")
    assert not (tmp_path / "folder").exists()


def test_of_a_tree_every_file_and_folder_is_synced(tmp_path: Path, calls: list[str]) -> None:
    root = tmp_path / "root"
    for name in ("a", "b/c"):
        durable.write_atomic(root / name, "")
    (root / "link").symlink_to("/dev/null")
    os.mkfifo(root / "pipe")
    calls.clear()
    durable.sync_tree(root)
    assert calls == ["sync a", "sync root", "sync c", "sync b"]
