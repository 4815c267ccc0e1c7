# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A finished run is scored again from its files: the same bytes come out, any change is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.plans import parse_plan
from support.records import rollout_record
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.records import PlanRecord
from vibench_gym.core.rundir import RolloutDir, RunDir
from vibench_gym.core.scoring.rescore import rescore
from vibench_gym.core.scoring.scorecard import score_plan, score_rollout
from vibench_gym.core.status import ArtifactStatus, CheckOutcome, PlanStatus, StepOutcome
from vibench_gym.core.tasks.task import load_task
from vibench_gym.core.verdict import Check, StepVerdict

if TYPE_CHECKING:
    from pathlib import Path


def graded(run: RunDir, task_dir: Path, **more: object) -> RolloutDir:
    """A finished rollout of one plan whose first step passed and whose second failed."""
    task = load_task(task_dir)
    [plan] = task.plans
    check = Check(text="x", outcome=CheckOutcome.PASSED, fatal=True)
    verdicts = (
        StepVerdict(step="first", outcome=StepOutcome.PASSED, checks=(check,), evidence=("o",)),
        StepVerdict(step="second", outcome=StepOutcome.FAILED, fatal=True),
    )
    record = PlanRecord(
        plan=plan.id, plan_sha256=plan.sha256, status=PlanStatus.GRADED, verdicts=verdicts
    )
    rollout = run.rollout(task, "reference")
    folder = rollout.plan(plan.id).create()
    folder.write_plan(plan)
    folder.write_record(record)
    folder.write_scorecard(score_plan(plan, verdicts, record.status))
    score = score_rollout([plan], {plan.id: record})
    rollout.write_rollout(rollout_record(**{**score.model_dump(), **more}))
    return rollout


class TestRescore:
    def test_the_same_bytes_come_out(self, tmp_path: Path, task_dir: Path) -> None:
        run = RunDir(tmp_path / "run")
        rollout = graded(run, task_dir)
        [result] = rescore(run)
        assert result.identical
        assert result.score is not None
        assert result.score.reward == 0.4
        [plan] = result.plans
        assert plan.identical
        assert plan.directory.read_scorecard() == plan.scorecard
        assert plan.directory.read_plan_text() == (task_dir / "tests/mvp/test1.txt").read_text()
        assert rollout.read_rollout() is not None

    def test_a_changed_scorecard_is_noticed(self, tmp_path: Path, task_dir: Path) -> None:
        run = RunDir(tmp_path / "run")
        path = graded(run, task_dir).plan("mvp.test1").path / "scorecard.json"
        path.write_text(path.read_text().replace('"score": 2', '"score": 5'))
        [result] = rescore(run)
        assert not result.identical
        assert not result.plans[0].identical

    @pytest.mark.parametrize("change", [{"reward": 1.0}, {"mask_sample": True}, {"reward": None}])
    def test_a_changed_reward_is_noticed(
        self, tmp_path: Path, task_dir: Path, change: dict[str, object]
    ) -> None:
        run = RunDir(tmp_path / "run")
        graded(run, task_dir, **change)
        assert not rescore(run)[0].identical

    def test_another_plan_than_the_graded_one_is_refused(
        self, tmp_path: Path, task_dir: Path
    ) -> None:
        run = RunDir(tmp_path / "run")
        folder = graded(run, task_dir).plan("mvp.test1")
        text = folder.read_plan_text()
        assert text is not None
        other = text.replace("Buy", "Sell")
        folder.write_plan(parse_plan(other, "t", "t"))
        with pytest.raises(ConfigError, match="not the plan that was graded"):
            rescore(run)
        (folder.path / "plan.txt").write_text("nothing")
        with pytest.raises(ConfigError, match="not a usable plan"):
            rescore(run)
        (folder.path / "plan.txt").unlink()
        with pytest.raises(ConfigError, match=r"plan\.txt' is not there"):
            rescore(run)

    def test_a_plan_that_was_not_measured_masks(self, tmp_path: Path, task_dir: Path) -> None:
        run = RunDir(tmp_path / "run")
        (graded(run, task_dir).plan("mvp.test1").path / "plan.json").unlink()
        [result] = rescore(run)
        assert result.score is not None
        assert result.score.mask_sample
        assert result.plans == ()

    def test_a_failed_build_needs_no_plans(self, tmp_path: Path) -> None:
        run = RunDir(tmp_path / "run")
        run.rollout("shop", "empty").write_rollout(
            rollout_record(
                artifact_status=ArtifactStatus.NOT_BUILDABLE,
                artifact_message="no scripts",
                reward=0.0,
                build_failed=True,
                failure_kind="not_buildable",
                failure_reason="no scripts",
            )
        )
        [result] = rescore(run)
        assert result.identical

    def test_a_running_rollout_is_left_out(self, tmp_path: Path, task_dir: Path) -> None:
        run = RunDir(tmp_path / "run")
        graded(run, task_dir, finished_at=None)
        assert rescore(run) == []
