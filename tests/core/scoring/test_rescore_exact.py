# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A stored rollout of which parts are missing or changed: what is scored again, what is refused."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from support.records import all_passed, three_plans
from vibench_gym.core.errors import ConfigError, RecordUnreadable
from vibench_gym.core.records import RolloutRecord
from vibench_gym.core.rundir import RolloutDir, RunDir
from vibench_gym.core.scoring.rescore import rescore, rescore_readable
from vibench_gym.core.scoring.scorecard import score_plan, score_rollout
from vibench_gym.core.status import ArtifactStatus, PlanStatus

if TYPE_CHECKING:
    from pathlib import Path


def stored(run: RunDir, **more: Any) -> RolloutDir:
    """A rollout over three plans: not measured, not started, passed."""
    rollout = run.rollout("task", "r")
    plans = three_plans()
    records = {}
    for plan, status in zip(plans[1:], (PlanStatus.START_FAILED, PlanStatus.GRADED), strict=True):
        records[plan.id] = all_passed(plan, status)
        folder = rollout.plan(plan.id).create()
        folder.write_record(records[plan.id])
        folder.write_scorecard(score_plan(plan, records[plan.id].verdicts, status))
    for plan in plans:
        rollout.plan(plan.id).create().write_plan(plan)
    score = score_rollout(plans, records)
    values = {
        "label": "r",
        "task": "task",
        "artifact": "mvp",
        "artifact_sha256": None,
        "artifact_status": ArtifactStatus.OK,
        "plans": tuple(plan.id for plan in plans),
        "started_at": "x",
        "finished_at": "y",
        **score.model_dump(),
        **more,
    }
    rollout.write_rollout(RolloutRecord.model_validate(values))
    return rollout


def test_a_plan_without_a_record_hides_none_after_it(tmp_path: Path) -> None:
    rollout = stored(RunDir(tmp_path))
    (again,) = rescore(RunDir(tmp_path))
    assert again.identical
    assert [plan.scorecard.score for plan in again.plans] == [0, 4]
    assert again.directory == rollout
    assert again.score is not None
    assert again.score.reward == pytest.approx(1 / 3)


def test_plans_of_a_failed_build_are_scored_again_where_there_are_any(tmp_path: Path) -> None:
    rollout = stored(
        RunDir(tmp_path),
        artifact_status=ArtifactStatus.REJECTED,
        artifact_message="no archive",
        reward=0.0,
        build_failed=True,
        mask_sample=False,
        failure_kind="rejected",
        failure_reason="no archive",
    )
    shutil.rmtree(rollout.plan("p0").path)
    (again,) = rescore(RunDir(tmp_path))
    assert again.identical
    assert [plan.directory.plan_id for plan in again.plans] == ["p1", "p2"]


def test_what_cannot_be_scored_again_is_named(tmp_path: Path) -> None:
    rollout = stored(RunDir(tmp_path))
    folder = rollout.plan("p1").path
    for text, what in (
        (
            three_plans()[1].text.replace("A.", "C."),
            f"{str(folder / 'plan.txt')!r} is not the plan that was graded",
        ),
        ("nothing", f"{str(folder / 'plan.txt')!r} is not a usable plan"),
        (None, f"{str(folder / 'plan.txt')!r} is not there"),
    ):
        (folder / "plan.txt").unlink()
        if text is not None:
            (folder / "plan.txt").write_text(text)
        with pytest.raises(ConfigError) as caught:
            rescore(RunDir(tmp_path))
        assert str(caught.value).startswith(what)
        (folder / "plan.txt").touch()


@pytest.mark.parametrize("file", ["plan.txt", "plan.json", "scorecard.json"])
def test_a_plan_that_is_cut_is_left_out_alone(tmp_path: Path, file: str) -> None:
    run = RunDir(tmp_path)
    rollout = stored(run)
    path = rollout.plan("p1").path / file
    path.write_bytes(path.read_bytes()[:30])
    found = rescore_readable(run)
    assert [cut.path for cut in found.unreadable] == [path]
    (again,) = found.rollouts
    assert (again.score, again.identical, again.unreadable) == (None, False, found.unreadable)
    assert [(plan.directory.plan_id, plan.identical) for plan in again.plans] == [("p2", True)]
    with pytest.raises(RecordUnreadable):
        rescore(run)


def test_a_rollout_that_is_cut_hides_no_other(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    first, second = stored(run), stored(run)
    (first.path / "rollout.json").write_text('{"label": ')
    assert [plan.plan_id for plan in first.plans()] == ["p0", "p1", "p2"]
    found = rescore_readable(run)
    assert [one.directory for one in found.rollouts] == [second]
    assert found.rollouts[0].identical
    assert [cut.path for cut in found.unreadable] == [first.path / "rollout.json"]
