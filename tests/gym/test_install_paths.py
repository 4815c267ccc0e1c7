# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where NeMo Gym finds our servers and their virtualenv."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from vibench_gym.gym.install_paths import SERVERS, gym_root, one_venv


def test_the_root_holds_both_servers_as_nemo_gym_wants_them() -> None:
    for server in SERVERS[:2]:
        folder = gym_root() / server
        assert (folder / "app.py").is_file()
        assert (folder / "requirements.txt").is_file()
        assert not (folder.parent / "__init__.py").exists()  # it would hide NeMo Gym's own


def test_every_server_gets_this_virtualenv(tmp_path: Path) -> None:
    config = one_venv(tmp_path / "venvs")
    said = yaml.safe_load(config.read_text(encoding="utf-8"))

    assert said == {"skip_venv_if_present": True, "uv_venv_dir": str(tmp_path / "venvs")}
    for server in SERVERS:
        assert (tmp_path / "venvs" / server / ".venv").readlink() == Path(sys.prefix)


def test_again_changes_nothing_and_mends_what_points_elsewhere(tmp_path: Path) -> None:
    config = one_venv(tmp_path)
    written = config.stat().st_mtime_ns
    wrong = tmp_path / SERVERS[0] / ".venv"
    wrong.unlink()
    wrong.symlink_to(tmp_path)

    assert one_venv(tmp_path) == config
    assert config.stat().st_mtime_ns == written
    assert wrong.readlink() == Path(sys.prefix)
