# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from support.plans import parse_plan
from vibench_gym.core.errors import ConfigError, ResultsUnwritable
from vibench_gym.core.records import Event, PlanRecord, RolloutRecord
from vibench_gym.core.rundir import MAX_EVENT_BYTES, PlanDir, RolloutDir, RunDir, write_atomic
from vibench_gym.core.scoring.rescore import rescore
from vibench_gym.core.scoring.scorecard import score_plan, score_rollout
from vibench_gym.core.status import ArtifactStatus, CheckOutcome, PlanStatus, StepOutcome
from vibench_gym.core.tasks.task import load_task
from vibench_gym.core.verdict import Check, StepVerdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def rollout_record(**more: object) -> RolloutRecord:
    values = {
        "label": "reference",
        "task": "shop",
        "artifact": "mvp",
        "artifact_sha256": "0" * 64,
        "artifact_status": ArtifactStatus.OK,
        "plans": ("mvp.test1",),
        "plan_names": {"mvp.test1": "tests/mvp/test1.txt"},
        "started_at": "2026-05-01T00:00:00Z",
        "finished_at": "2026-05-01T00:01:00Z",
        **more,
    }
    return RolloutRecord.model_validate(values)


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


class TestLayout:
    def test_names_of_files_are_those_of_the_docs(self, tmp_path: Path) -> None:
        run = RunDir(tmp_path / "run")
        rollout = run.rollout("shop", "reference")
        rollout.write_artifact("ab" * 32)
        plan = rollout.plan("mvp.test1").create()
        base = tmp_path / "run/shop/reference"
        assert rollout.path == base
        assert run.report == tmp_path / "run/index.html"
        assert rollout.setup_log == base / "setup.log"
        assert (base / "artifact.sha256").read_text() == "ab" * 32 + "\n"
        assert plan.plan_id == "mvp.test1"
        assert plan.path == base / "plans/mvp.test1"
        assert plan.screenshots.is_dir()
        assert plan.downloads.is_dir()
        names = (plan.trace, plan.app_log, plan.events_path)
        assert [path.name for path in names] == [
            "trace.zip",
            "app.log",
            "events.jsonl",
        ]

    def test_a_label_that_is_taken_gets_a_number(self, tmp_path: Path) -> None:
        run = RunDir(tmp_path)
        names = [run.rollout("a/../b", "x y").path.name for _ in range(3)]
        assert names == ["x-y", "x-y-2", "x-y-3"]

    @pytest.mark.parametrize("plan_id", ["", ".", "..", "a/b", "a\0b"])
    def test_a_plan_id_is_a_folder_name(self, tmp_path: Path, plan_id: str) -> None:
        with pytest.raises(ValueError, match="not a plan id"):
            RolloutDir(tmp_path).plan(plan_id)

    def test_only_what_has_begun_is_a_rollout(self, tmp_path: Path) -> None:
        run = RunDir(tmp_path / "run")
        assert list(run.rollouts()) == []
        run.rollout("shop", "empty")
        begun = run.rollout("shop", "begun")
        begun.write_rollout(rollout_record(finished_at=None))
        assert list(run.rollouts()) == [begun]

    def test_plans_come_in_the_tasks_order(self, tmp_path: Path) -> None:
        rollout = RunDir(tmp_path).rollout("shop", "r")
        assert list(rollout.plans()) == []
        for plan_id in ("mvp.a", "mvp.b", "mvp.c"):
            rollout.plan(plan_id).create()
        assert [plan.plan_id for plan in rollout.plans()] == ["mvp.a", "mvp.b", "mvp.c"]
        rollout.write_rollout(rollout_record(plans=("mvp.c", "mvp.a")))
        assert [plan.plan_id for plan in rollout.plans()] == ["mvp.c", "mvp.a", "mvp.b"]


class TestWhileItGrows:
    def test_what_is_not_written_yet_is_none(self, tmp_path: Path) -> None:
        rollout = RunDir(tmp_path).rollout("shop", "r")
        plan = rollout.plan("mvp.test1").create()
        assert rollout.read_rollout() is None
        assert plan.read_record() is None
        assert plan.read_scorecard() is None
        assert plan.read_plan_text() is None
        assert list(plan.events()) == []

    def test_a_replaced_file_leaves_nothing_beside_it(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "a.json"
        write_atomic(path, "one")
        write_atomic(path, b"two")
        assert path.read_text() == "two"
        assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]

    def test_events_survive_a_cut_line(self, tmp_path: Path) -> None:
        plan = RunDir(tmp_path).rollout("shop", "r").plan("p").create()
        first = Event(t=0.5, kind="check", step="a", data={"n": [1, "é\ud800"]})
        plan.append_event(first.model_copy(update={"data": {}}))
        plan.append_event(Event(t=1, kind="phase"))
        with plan.events_path.open("ab") as file:
            file.write(b'{"t": 2, "kind": "pha')
        assert [event.t for event in plan.events()] == [0.5, 1]

    def test_event_data_that_cannot_be_kept_is_named(self, tmp_path: Path) -> None:
        plan = RunDir(tmp_path).rollout("shop", "r").plan("p").create()
        plan.append_event(Event(t=0, kind="model", data={"x": float("nan")}))
        plan.append_event(Event(t=1, kind="model", data={"x": "y" * MAX_EVENT_BYTES}))
        plan.append_event(Event(t=2, kind="model", data={"x": {1}}))
        data = [event.data for event in plan.events()]
        assert data[0] == {"cut": "{'x': nan}"}
        assert len(data[1]["cut"]) == 1000
        assert data[2] == {"x": "{1}"}

    def test_events_are_read_up_to_a_bound(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("vibench_gym.core.rundir.MAX_EVENTS", 2)
        plan = RunDir(tmp_path).rollout("shop", "r").plan("p").create()
        for number in range(3):
            plan.append_event(Event(t=number, kind="phase"))
        assert len(list(plan.events())) == 2

    def test_a_record_of_another_version_is_refused(self, tmp_path: Path) -> None:
        rollout = RunDir(tmp_path).rollout("shop", "r")
        (rollout.path / "rollout.json").write_text('{"schema_version": 9}')
        with pytest.raises(ConfigError, match="schema_version"):
            rollout.read_rollout()


class TestRescore:
    def test_the_same_bytes_come_out(self, tmp_path: Path, task_dir: Path) -> None:
        run = RunDir(tmp_path / "run")
        rollout = graded(run, task_dir)
        [result] = rescore(run)
        assert result.identical
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
        with pytest.raises(ConfigError, match=r"has no plan\.txt"):
            rescore(run)

    def test_a_plan_that_was_not_measured_masks(self, tmp_path: Path, task_dir: Path) -> None:
        run = RunDir(tmp_path / "run")
        (graded(run, task_dir).plan("mvp.test1").path / "plan.json").unlink()
        [result] = rescore(run)
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


def test_a_folder_that_takes_no_results_is_the_operators_matter(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plan = PlanDir(tmp_path / "file" / "plan")
    event = Event(t=0.0, kind="phase")
    rollout = RolloutDir(tmp_path / "file" / "rollout")
    writes: dict[Path, Callable[[], object]] = {
        plan.path: plan.create,
        plan.events_path: lambda: plan.append_event(event),
        rollout.path / "artifact.sha256": lambda: rollout.write_artifact("0" * 64),
        rollout.path / "rollout.json": lambda: rollout.write_rollout(rollout_record()),
        tmp_path / "file/task/label": lambda: RunDir(tmp_path / "file").rollout("task", "label"),
    }
    for path, write in writes.items():
        with pytest.raises(ResultsUnwritable) as caught:
            write()
        assert str(caught.value).startswith(f"results cannot be written to {str(path)!r}: ")


def test_plans_are_removed_all_of_them_or_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout = RolloutDir(tmp_path / "rollout")
    rollout.remove_plans()
    for name in ("mvp.test1", "mvp.test2"):
        (rollout.plan(name).create().screenshots / "shot.jpg").touch()

    def stays(_path: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", stays)
        with pytest.raises(ResultsUnwritable, match="busy"):
            rollout.remove_plans()
    assert len(list(rollout.plans())) == 2
    rollout.remove_plans()
    assert list(rollout.plans()) == []
