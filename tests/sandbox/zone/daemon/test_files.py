# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Files in and out of a state folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vibench_gym.sandbox.zone.daemon import files
from vibench_gym.sandbox.zone.daemon.protocol import (
    pack_file,
    unpack_files,
)


class TestFiles:
    def test_put_and_get(self, tmp_path: Path) -> None:
        (tmp_path / "in-the-way").mkdir()
        (tmp_path / "a").write_text("file where a folder is wanted")
        payload = pack_file("in-the-way", b"1") + pack_file("a/b", b"2") + pack_file("c", b"3")
        owner = os.getuid(), os.getgid()
        files.put(str(tmp_path), _descriptor(payload), owner, 0o755)
        assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o755
        (tmp_path / "closed").symlink_to("/etc")
        os.mkfifo(tmp_path / "fifo")
        got = tmp_path.with_name("got")
        target = os.open(got, os.O_WRONLY | os.O_CREAT)
        files.get(str(tmp_path), target, max_files=3, max_bytes=3)
        read = dict(unpack_files(got.read_bytes()))
        assert read == {"in-the-way": b"1", "a/b": b"2", "c": b"3"}

    def test_one(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b").write_text("text")
        target = tmp_path / "target"
        files.get_one(str(tmp_path), "a/b", os.open(target, os.O_WRONLY | os.O_CREAT), max_bytes=4)
        assert target.read_text() == "text"
        for path, most in (("a/b", 3), ("a", 9), ("a/c", 9), ("../x", 9)):
            fd = os.open(target, os.O_WRONLY)
            with pytest.raises(OSError, match=r"Errno"):
                files.get_one(str(tmp_path), path, fd, max_bytes=most)

    def test_trees(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        (source / "deep").mkdir(parents=True)
        (source / "deep" / "file").write_bytes(b"x" * 10_000)
        (source / "link").symlink_to("deep")
        target.mkdir()
        files.export_tree(str(source), str(target), 100_000)
        assert (target / "link").readlink() == Path("deep")
        with pytest.raises(OSError, match="larger than"):
            files.export_tree(str(source), str(target), 5000)
        owner = (os.getuid(), os.getgid())
        files.import_tree(str(source), str(target), owner)
        with pytest.raises(OSError, match="ended with"):
            files.copy_tree(str(tmp_path / "missing"), str(target))


def _descriptor(data: bytes) -> int:
    fd = os.memfd_create("payload")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
