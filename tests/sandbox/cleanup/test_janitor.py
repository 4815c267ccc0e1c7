# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What is left behind is removed, whatever its modes, by this process or its janitor."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

from vibench_gym.sandbox.cleanup import janitor
from vibench_gym.sandbox.cleanup.janitor_list import JanitorList
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


class TestRemoval:
    def test_trees_of_any_modes_and_depth_are_removed(self, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        (tree / "closed").mkdir(parents=True)
        (tree / "closed" / "file").write_text("x")
        (tree / "closed").chmod(0)
        handle = os.open(tree, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=handle)
            below = os.open("d", os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = below
        os.close(handle)
        assert remove_tree(tree)
        assert not tree.exists()
        assert remove_tree(tree)

    def test_links_are_removed_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "kept").mkdir()
        (tmp_path / "tree").mkdir()
        (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
        assert remove_tree(tmp_path / "tree")
        assert (tmp_path / "kept").exists()

    def test_a_work_folder_is_private_and_goes(self) -> None:
        folder = WorkFolder("test")
        assert folder.path.stat().st_mode & 0o777 == 0o700
        folder.remove()
        assert not folder.path.exists()
        folder.remove()

    def test_a_new_janitor_takes_over_from_one_that_was_killed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = JanitorList(janitor.__name__)
        monkeypatch.setattr(janitor, "_list", link)
        first = WorkFolder("one")
        os.close(link._pipe)
        reader, link._pipe = os.pipe()
        os.close(reader)
        shutil.rmtree(first.path)
        first.path.mkdir()  # whatever the janitor of before did when its pipe closed
        folder = WorkFolder("two")
        link.close()
        _until(lambda: not folder.path.exists() and not first.path.exists())

    def test_what_is_left_at_the_end_is_removed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        link = JanitorList(janitor.__name__)
        monkeypatch.setattr(janitor, "_list", link)
        kept, left = WorkFolder("kept"), WorkFolder("left")
        janitor.forget(kept.path)
        link.close()
        link.close()
        _until(lambda: not left.path.exists())
        assert kept.path.exists()
        assert remove_tree(kept.path)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
