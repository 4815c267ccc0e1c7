# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from vibench_gym.cli.app import app
from vibench_gym.cli.wire import GcOut
from vibench_gym.sandbox import leftovers
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one place where leftovers are looked for: the host's own may be in use."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    only = leftovers.LeftoverPaths((folder,), None, tmp_path / "g", tmp_path / "l", tmp_path / "s")
    monkeypatch.setattr(leftovers.LeftoverPaths, "of_host", lambda _cache: only)
    return folder


def test_says_what_is_left_and_then_removes_it(temporary: Path) -> None:
    left = temporary / "vibench-gym-zone-0123456789ab"
    (left / "deep").mkdir(parents=True)
    with WorkFolder("zone", temporary) as living:
        runner = CliRunner()
        looked = runner.invoke(app, ["gc", "--dry-run"])
        assert looked.exit_code == 0
        assert left.exists()
        answer = runner.invoke(app, ["gc", "--json"])
        assert answer.exit_code == 0
        said = GcOut.model_validate_json(answer.stdout)
        assert living.is_dir()
    assert json.loads(answer.stdout)["dry_run"] is False
    assert [(one.kind, one.path, one.removed) for one in said.leftovers] == [
        ("folder", str(left), True)
    ]
    assert not left.exists()
    again = CliRunner().invoke(app, ["gc", "--json"])
    assert GcOut.model_validate_json(again.stdout).leftovers == ()


def test_what_cannot_be_removed_is_an_exit_code(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / "vibench-gym-zone-0123456789ab").mkdir()
    monkeypatch.setitem(leftovers._REMOVERS, "folder", lambda _path: False)
    assert CliRunner().invoke(app, ["gc"]).exit_code == 1


def test_the_hosts_own_places_are_found(tmp_path: Path) -> None:
    places = leftovers.LeftoverPaths.of_host(tmp_path)
    assert places.cache == tmp_path
    assert all(path.is_dir() for path in places.temporary)
