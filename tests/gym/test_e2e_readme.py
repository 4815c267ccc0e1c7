# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The README's commands, as written: NeMo Gym's own command line over five rows; in CI over two."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.gym_servers.command_line import marked_processes, until_gone
from support.gym_servers.readme import ROWS, ReadmeRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

pytestmark = [pytest.mark.gym, pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]
REPO = Path(__file__).resolve().parents[2]
APPS = ("doodles", "herbarium", "pantry", "standup", "tool_library")
IN_CI = APPS[:2]


def rows_of(apps: Sequence[str], folder: Path) -> str | None:
    """A file with the rows of some apps; None for all that the README names."""
    if apps == APPS:
        return None
    chosen = folder / "rows.jsonl"
    with (REPO / ROWS).open(encoding="utf-8") as file:
        chosen.write_text("".join(row for row in file if json.loads(row)["app"] in apps), "utf-8")
    return str(chosen)


def graded_alone(row: Mapping[str, Any], readme: ReadmeRun) -> float:
    digest, task = row["artifact_sha256"], REPO / "tasks" / row["app"]
    store = readme.folder / "artifacts"
    (archive,) = (path for path in store.rglob(f"*{digest}*") if path.is_file())
    said = readme.shell(f"vibench-gym grade {archive} --task {task} --replay --json --out alone")
    reward = json.loads(said)["rollouts"][0]["reward"]
    assert isinstance(reward, float)
    return reward


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_readmes_commands_give_rewards(tmp_path: Path) -> None:
    apps = IN_CI if os.environ.get("CI") == "true" else APPS
    readme = ReadmeRun(REPO / "README.md", tmp_path, Path(sys.executable).parent)
    with readme.servers() as watch:
        rows = readme.collect(rows_of(apps, tmp_path))
        assert marked_processes(str(tmp_path))

    assert tuple(sorted(rows)) == apps
    assert not any(row["mask_sample"] for row in rows.values())
    rewards = {app: row["reward"] for app, row in rows.items()}
    assert all(rewards.get(app, 1.0) == 1.0 for app in ("pantry", "standup"))
    assert rewards["herbarium"] == 0.0
    assert rows["herbarium"]["failure_kind"] == "vibench:not_buildable"
    assert 0.0 < rewards["doodles"] < 1.0
    for app in {"doodles", "tool_library"} & rows.keys():
        assert graded_alone(rows[app], readme) == pytest.approx(rewards[app])
    (metrics,) = json.loads((tmp_path / "results/rollouts_aggregate_metrics.json").read_text())
    expected = {"mean_reward", "perfect_rate", "build_failure_rate", "masked_rate", "mean/reward"}
    assert expected <= metrics["key_metrics"].keys()
    mean = sum(rewards.values()) / len(apps)
    assert metrics["key_metrics"]["mean/reward"] == pytest.approx(mean)
    with (tmp_path / "results/rollout_verdicts.jsonl").open(encoding="utf-8") as file:
        assert [json.loads(line)["verdict"] for line in file] == ["healthy"] * len(apps)
    assert until_gone(str(tmp_path)) == {}
    assert watch.until_gone() == set()
