# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The demo, whole: real stacks, real Chromium, replayed models; then rescored from disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from vibench_gym.cli.demo import demo_apps
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.tasks.task import bundled_tasks_dir, load_task

REPO = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vibench_gym.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        env={**os.environ, "COLUMNS": "120"},
    )


@pytest.mark.timeout(300)
@pytest.mark.long
def test_demo_grades_four_artifacts_and_rescores_to_the_byte(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = command("demo", "--grade-only", "--json", "--out", str(run))
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(
        value, json.loads((REPO / "docs" / "schema" / "demo.schema.json").read_text())
    )
    rollouts = {rollout["label"]: rollout for rollout in value["rollouts"]}
    assert list(rollouts) == ["reference", "mutant", "broken", "empty"]
    assert not any(rollout["mask_sample"] for rollout in rollouts.values())
    assert rollouts["reference"]["reward"] == 1.0
    assert 0.0 < rollouts["mutant"]["reward"] < 1.0
    assert rollouts["broken"]["reward"] == 0.0
    assert {plan["status"] for plan in rollouts["broken"]["plans"]} == {"start_failed"}
    assert (rollouts["empty"]["reward"], rollouts["empty"]["build_failed"]) == (0.0, True)
    record = json.loads((run / "pantry" / "empty" / "rollout.json").read_text())
    assert record["artifact_status"] == "not_buildable"
    assert "server_main.py" in Path(value["report"]).read_text()

    again = command("rescore", str(run), "--json")
    assert again.returncode == 0, again.stdout
    assert all(plan["identical"] for plan in json.loads(again.stdout)["plans"])

    card = run / "pantry" / "reference" / "plans" / "mvp.test1" / "scorecard.json"
    card.write_text(card.read_text().replace('"score": ', '"score":  ', 1))
    tampered = command("rescore", str(run))
    assert tampered.returncode == 1
    assert "DIFFERENT" in tampered.stdout


def test_grade_one_plan_of_an_archive(tmp_path: Path) -> None:
    task = load_task(bundled_tasks_dir() / "pantry")
    assert task.reference is not None
    archive = tmp_path / "app.tar.gz"
    subprocess.run(["tar", "-C", str(task.reference), "-czf", str(archive), "."], check=True)
    done = command(
        "grade", str(archive), "--task", str(task.root), "--plan", "test1", "--replay",
        "--label", "mine", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mine: 1.000" in done.stderr
    assert "17/17" in done.stdout
    assert done.stdout.rstrip().endswith("index.html")


def test_the_demos_apps_need_a_reference_and_the_mutant(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ships no mutant"):
        demo_apps(load_task(bundled_tasks_dir() / "doodles"), tmp_path)
