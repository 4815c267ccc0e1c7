# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Control groups of boxes are made with their limits, and removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vibench_gym.sandbox import control_groups


class TestControlGroups:
    @pytest.fixture
    def base(self) -> dict[str, str]:
        base = control_groups.find_base()
        if not base:
            pytest.skip("no control groups are delegated to this user")
        return base

    def test_a_box_has_its_limits_and_is_removed(self, base: dict[str, str]) -> None:
        folders = control_groups.make_zone(base, f"test-{os.getpid()}")
        try:
            group = control_groups.BoxGroup(folders, "box", memory=100 << 20, processes=17)
            assert Path(folders["pids"], "box", "pids.max").read_text() == "17\n"
            assert not group.out_of_memory()
            assert all(path.endswith("/box/cgroup.procs") for path in group.join_paths())
            assert group.remove()
        finally:
            assert control_groups.remove_zone(sorted(set(folders.values())))
        assert not any(Path(folder).exists() for folder in folders.values())

    def test_removing_what_is_not_there_is_done(self) -> None:
        assert control_groups.remove_zone(["/sys/fs/cgroup/not-there/zone"])
