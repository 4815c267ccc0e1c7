# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of any part at any moment: nothing is left, and no finished score is another for it.

A campaign grades one app, again and again with `--resume`, and kills one part in each run, until
every plan is finished; then the next campaign begins, until all kills are done.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from vibench_gym.core.rundir import RunDir
from vibench_gym.core.tasks.task import bundled_tasks_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vibench_gym.core.records import PlanRecord

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.postgres,
    pytest.mark.browser,
    pytest.mark.long,
]

HERE = Path(__file__).parent
GRADE_PARTS = (
    "grader", "grader", "zone daemon", "bubblewrap", "bubblewrap", "PostgreSQL", "PostgreSQL",
    "Chromium", "Chromium", "driver", "janitor",
)  # fmt: skip
ROLLOUT_PARTS = ("agent server", "resources server", "harness", "bubblewrap", "Chromium")
PER_CAMPAIGN = 4
ROLLOUTS_PER_KILL = 5
"""One in so many kills is in a whole rollout, which takes longer."""
BUSY = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2)
"""How much longer everything takes where others work on this machine, too."""
PATIENCE_S = 30.0 * BUSY
LIMIT_S = 900.0
ROLLOUT_LIMIT_S = 900.0
TASK = "pantry"
PLANS = ("mvp.test1", "mvp.test2")
"""One without a seed and one with; a kill can fall between them."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    kills: int = metafunc.config.getoption("--kills", 8)
    rollouts = kills // ROLLOUTS_PER_KILL
    if "campaign" in metafunc.fixturenames:
        metafunc.parametrize("campaign", range(-(-(kills - rollouts) // PER_CAMPAIGN)))
    if "rollout" in metafunc.fixturenames:
        metafunc.parametrize("rollout", range(rollouts))


def oversee(
    part: str, command: list[str], temporary: Path, *, after_s: float, seed: int, limit_s: float
) -> dict[str, Any]:
    """Run a command of which one part is killed; nothing of it may be left."""
    done = subprocess.run(
        [
            sys.executable, HERE / "overseer.py", part, str(after_s), str(seed), str(limit_s),
            str(PATIENCE_S), *command,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=limit_s + 2 * PATIENCE_S + 60,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout)
    where = f"{part} after {after_s:.2f} s, seed {seed}: {result}"
    assert result["left"] == [], where
    return result


def grade_command(run: Path) -> list[str]:
    task = bundled_tasks_dir() / TASK
    return [
        sys.executable, "-m", "vibench_gym.cli", "grade", str(task / "reference" / "mvp"),
        "--task", str(task), "--replay", "--concurrency", "2", "--label", "killed",
        "--out", str(run), "--resume", *(word for plan in PLANS for word in ("--plan", plan)),
    ]  # fmt: skip


def finished(run: Path) -> Iterator[tuple[str, PlanRecord, bytes]]:
    """Plans that are measured: id, record, scorecard's bytes."""
    for rollout in RunDir(run).rollouts():
        for plan in rollout.plans():
            record, card = plan.read_record(), plan.scorecard_bytes()
            if record is not None and not record.masked:
                assert card is not None
                yield plan.plan_id, record, card


def hidden(run: Path) -> list[Path]:
    """Files that were being written."""
    return [path for path in run.rglob(".*") if not path.name.endswith(".lock")]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Every plan's scorecard when nobody is killed, and how long that took."""
    folder = tmp_path_factory.mktemp("undisturbed")
    subprocess.run(grade_command(folder / "run"), check=True, capture_output=True, timeout=LIMIT_S)
    cards = {plan: card for plan, _, card in finished(folder / "run")}
    assert len(cards) == len(PLANS)
    return cards


@pytest.mark.timeout(7200)
def test_no_kill_changes_a_score(
    campaign: int,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Any,
) -> None:
    seed = request.config.getoption("--kill-seed", 5) * 1000 + campaign
    dice = random.Random(seed)  # noqa: S311 (moments, no secrets)
    temporary = tmp_path / "tmp"
    temporary.mkdir(mode=0o755)
    number = 0
    runs = 0
    while number < PER_CAMPAIGN:
        run = tmp_path / f"run{runs}"
        runs += 1
        while len(list(finished(run))) < len(undisturbed) and number < PER_CAMPAIGN:
            part = dice.choice(GRADE_PARTS)
            after = dice.uniform(0.3, 12.0)
            one = dice.randrange(10**6)
            result = oversee(
                part, grade_command(run), temporary, after_s=after, seed=one, limit_s=LIMIT_S
            )
            number += 1
            if result["killed"] is not None:
                record_property("kill", part)
                record_property("gone_s", result["gone_s"])
            for plan, record, card in finished(run):
                assert card == undisturbed[plan], (part, after, one, result, record)
        ended = subprocess.run(
            grade_command(run), capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        assert ended.returncode == 0, ended.stderr
        assert {plan: card for plan, _, card in finished(run)} == undisturbed
        assert hidden(run) == []


@pytest.mark.gym
@pytest.mark.timeout(3600)
def test_no_kill_changes_a_rollout(
    rollout: int,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Any,
) -> None:
    seed = request.config.getoption("--kill-seed", 5) * 1000 + 500 + rollout
    dice = random.Random(seed)  # noqa: S311 (moments, no secrets)
    part = ROLLOUT_PARTS[rollout % len(ROLLOUT_PARTS)]
    temporary, folder = tmp_path / "tmp", tmp_path / "rollout"
    temporary.mkdir(mode=0o755)
    folder.mkdir()
    command = [sys.executable, str(HERE / "rollout.py"), str(folder)]
    after = dice.uniform(1.0, 25.0)
    result = oversee(part, command, temporary, after_s=after, seed=seed, limit_s=ROLLOUT_LIMIT_S)
    if result["killed"] is not None:
        record_property("kill", part)
        record_property("gone_s", result["gone_s"])
    if not (folder / "row.json").exists() or _masked(folder):
        again = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=ROLLOUT_LIMIT_S
        )
        assert again.returncode == 0, again.stderr[-4000:]
    row = json.loads((folder / "row.json").read_text())
    where = (part, after, result, row)
    if part == "harness" and row["reward"] != 1.0:
        # What a harness that was cut short has left is graded, for builders can end theirs, too.
        assert row["artifact_status"] in {"ok", "not_buildable", "missing"}, where
        return
    assert (row["reward"], row["mask_sample"]) == (1.0, False), where
    for plan, _, card in finished(folder / "vibench_resources_server"):
        assert card == undisturbed[plan], where


def _masked(folder: Path) -> bool:
    return bool(json.loads((folder / "row.json").read_text())["mask_sample"])
