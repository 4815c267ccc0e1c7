# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Exact values and edges that mutation testing found nobody looked at (docs/mutation.md)."""

from __future__ import annotations

import base64
import json
import os
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest

from support.grading import make_plan
from support.plans import parse_plan, render_plan
from support.strategies import verdict
from vibench_gym.core.artifact import ArtifactStore, tree_sha256
from vibench_gym.core.errors import ArtifactRejected, ConfigError, Problem, TaskInvalid
from vibench_gym.core.records import Event, PlanRecord, RolloutRecord, canonical_json
from vibench_gym.core.redact import REDACTED, redact
from vibench_gym.core.rundir import MAX_EVENT_BYTES, PlanDir, RolloutDir, RunDir, write_atomic
from vibench_gym.core.scoring.fatality import is_non_fatal
from vibench_gym.core.scoring.rescore import rescore
from vibench_gym.core.scoring.scorecard import check_verdicts, reward, score_plan, score_rollout
from vibench_gym.core.status import ArtifactStatus, PlanStatus, StepOutcome
from vibench_gym.core.tasks.mutant import apply_mutant, load_mutants
from vibench_gym.core.tasks.plan import MAX_PLAN_BYTES, decode_plan
from vibench_gym.core.tasks.plan_tags import scan_tags
from vibench_gym.core.tasks.task import artifacts_of, load_benchmark, load_task
from vibench_gym.core.verdict import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from vibench_gym.core.tasks.plan import TestPlan

TREE = "6e7ab5b75f34adae68e4339e59193e0a751a99f4bba7ad55d0156edb508a60de"
SECRET = 'sk-"Se cret"/\\9?'


class TestDigests:
    def test_a_tree_has_this_digest_and_no_other(self, tmp_path: Path) -> None:
        """Stored answers and kept plans are found by it: it may not change unnoticed."""
        root = tmp_path / "app"
        (root / "deep").mkdir(parents=True)
        (root / "deep" / "file").write_bytes(b"text")
        (root / "run.sh").write_bytes(b"#!/bin/sh\n")
        (root / "run.sh").chmod(0o755)
        (root / "link").symlink_to("deep/file")
        os.mkfifo(root / "pipe")
        assert tree_sha256(root) == TREE

    def test_a_store_makes_its_folders(self, tmp_path: Path) -> None:
        (tmp_path / "archive").write_bytes(b"x")
        store = ArtifactStore(tmp_path / "not" / "there")
        key = store.put(tmp_path / "archive")
        assert store.path(key).read_bytes() == b"x"
        with pytest.raises(ArtifactRejected, match="no artifact '0000") as caught:
            store.path("0" * 64)
        assert caught.value.status is ArtifactStatus.MISSING


class TestRunDir:
    def test_a_plans_folder_may_be_there_already(self, tmp_path: Path) -> None:
        folder = PlanDir(tmp_path / "a" / "b" / "plan")
        assert folder.create().create().downloads.is_dir()
        write_atomic(tmp_path / "c" / "d" / "file", "text")
        assert (tmp_path / "c" / "d" / "file").read_text() == "text"

    def test_rollouts_are_numbered_and_read_in_natural_order(self, tmp_path: Path) -> None:
        run = RunDir(tmp_path)
        made = [run.rollout(task, "r") for task in ("t10", "t2", "t2", "t2")]
        assert [one.path.name for one in made] == ["r", "r", "r-2", "r-3"]
        assert all((one.path / "plans").is_dir() for one in made)
        made += [run.rollout("t2", f"r-{number}") for number in (10, 9)]
        for one in made:
            (one.path / "rollout.json").write_text("{}")
        (tmp_path / "link").symlink_to(tmp_path / "t2")
        assert [str(one.path.relative_to(tmp_path)) for one in run.rollouts()] == [
            "t2/r", "t2/r-2", "t2/r-3", "t2/r-9", "t2/r-10", "t10/r",
        ]  # fmt: skip

    def test_an_unreadable_event_hides_none_after_it(self, tmp_path: Path) -> None:
        plan = PlanDir(tmp_path).create()
        first, last = Event(t=1, kind="phase"), Event(t=2, kind="phase")
        plan.append_event(first)
        with plan.events_path.open("ab") as file:
            file.write(b"{no event\n")
        plan.append_event(last)
        assert list(plan.events()) == [first, last]

    def test_an_event_is_written_in_one_form(self, tmp_path: Path) -> None:
        plan = PlanDir(tmp_path).create()
        plan.append_event(Event(t=1, kind="flag", data={"b": 1, "a": {"d": 2, "c": 3}}))
        plan.append_event(Event(t=1, kind="flag", data={"z": "x" * MAX_EVENT_BYTES}))
        for line in plan.events_path.read_text().splitlines():
            assert line == json.dumps(json.loads(line), sort_keys=True)

    def test_records_are_written_in_one_form(self) -> None:
        assert canonical_json({"b": "é", "a": [1.5]}) == (
            '{\n  "a": [\n    1.5\n  ],\n  "b": "\\u00e9"\n}\n'
        )


class TestTasks:
    def test_links_that_lead_out_of_a_task_are_no_part_of_it(
        self, task_dir: Path, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "test1.qa.yaml").write_text("role: qa")
        (task_dir / "replay/mvp/test1.qa.yaml").symlink_to(outside / "test1.qa.yaml")
        for part in ("mutants/mvp", "reference/mvp"):
            for file in (task_dir / part).iterdir():
                file.unlink()
            (task_dir / part).rmdir()
            (task_dir / part).symlink_to(outside)
        task = load_task(task_dir)
        assert task.script(task.plans[0], "qa") is None
        assert (task.mutants, task.reference) == (None, None)
        with pytest.raises(KeyError, match="nothing"):
            task.plan("nothing")

    def test_artifacts_are_those_of_plans_and_of_prds(self, task_dir: Path) -> None:
        (task_dir / "tests/feature2").mkdir()
        (task_dir / "prd/feature10.txt").write_text("More.")
        (task_dir / "prd/notes.md").write_text("No PRD.")
        assert artifacts_of(task_dir) == ("mvp", "feature2", "feature10")

    def test_a_benchmark_is_counted_over_all_of_its_tasks(self, task_dir: Path) -> None:
        root = task_dir.parent / "root"
        (root / "prds").mkdir(parents=True)
        for name in ("one", "two"):
            task = root / "prds" / name
            task.symlink_to(task_dir)
        (root / "prds" / ".hidden").symlink_to(task_dir)
        only_prd = root / "prds" / "three"
        (only_prd / "prd").mkdir(parents=True)
        (only_prd / "prd/mvp.txt").write_text("Build.")
        for folder in ("assets", "test_assets"):
            (only_prd / folder).mkdir()
            os.mkfifo(only_prd / folder / "pipe")
        found = load_benchmark(root)
        counts = (found.root, found.apps, found.artifacts, found.plans, found.steps, found.points)
        assert counts == (root, 3, 3, 2, 4, 10)
        assert {problem.message for problem in found.problems} == {
            "has no test plans (*.txt)",
            "is not a regular file",
        }
        assert sum(problem.message == "is not a regular file" for problem in found.problems) == 2

    def test_a_root_without_tasks_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(TaskInvalid) as caught:
            load_benchmark(tmp_path)
        message = "holds no task (a folder with prd/ and tests/)"
        assert caught.value.problems == (Problem(str(tmp_path), 1, message),)

    def test_an_accepted_problem_is_a_warning_at_its_place(self, task_dir: Path) -> None:
        path = task_dir / "tests/mvp/test1.txt"
        path.write_text(path.read_text().replace("5</full_points>", "6</full_points>"))
        (task_dir / "exceptions.yaml").write_text("tests/mvp/test1.txt: upstream counts so\n")
        (warning,) = load_benchmark(task_dir).problems
        assert (warning.file, warning.line, warning.severity) == (str(path), 3, "warning")


class TestRollouts:
    """A rollout over three plans: not measured, started badly, passed."""

    def plans(self) -> list[TestPlan]:
        return [make_plan(f"p{n}", [("a", "A.", 1), ("b", "B.", 3)]) for n in range(3)]

    def record(self, plan: TestPlan, status: PlanStatus = PlanStatus.GRADED) -> PlanRecord:
        said = (verdict("a", "passed", 0), verdict("b", "passed", 1))
        return PlanRecord(plan=plan.id, plan_sha256=plan.sha256, status=status, verdicts=said)

    def test_what_did_not_start_earns_nothing_and_is_no_failed_build(self) -> None:
        plans = self.plans()
        records = {
            plans[1].id: self.record(plans[1], PlanStatus.START_FAILED),
            plans[2].id: self.record(plans[2]),
        }
        score = score_rollout(plans[1:], records)
        assert (score.reward, score.build_failed, score.mask_sample) == (0.5, False, False)
        whole = score_rollout(plans, records)
        assert whole.reward == pytest.approx(1 / 3)
        assert whole.mask_sample
        assert (whole.failure_kind, whole.failure_reason) == (
            "not_measured",
            "p0: was not measured",
        )
        with pytest.raises(ValueError, match=r"^a reward needs at least one plan$"):
            reward([])

    def test_a_failed_build_without_a_message_has_no_reason(self) -> None:
        score = score_rollout(self.plans(), {}, ArtifactStatus.MISSING)
        assert (score.failure_kind, score.failure_reason) == ("missing", None)

    def stored(self, run: RunDir, **more: Any) -> RolloutDir:
        rollout = run.rollout("task", "r")
        plans = self.plans()
        records = {}
        for plan, status in zip(
            plans[1:], (PlanStatus.START_FAILED, PlanStatus.GRADED), strict=True
        ):
            records[plan.id] = self.record(plan, status)
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

    def test_a_plan_without_a_record_hides_none_after_it(self, tmp_path: Path) -> None:
        rollout = self.stored(RunDir(tmp_path))
        (again,) = rescore(RunDir(tmp_path))
        assert again.identical
        assert [plan.scorecard.score for plan in again.plans] == [0, 4]
        assert again.directory == rollout
        assert again.score.reward == pytest.approx(1 / 3)

    def test_plans_of_a_failed_build_are_scored_again_where_there_are_any(
        self, tmp_path: Path
    ) -> None:
        rollout = self.stored(
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

    def test_what_cannot_be_scored_again_is_named(self, tmp_path: Path) -> None:
        rollout = self.stored(RunDir(tmp_path))
        folder = rollout.plan("p1").path
        for text, what in (
            (
                self.plans()[1].text.replace("A.", "C."),
                f"{str(folder)!r}: plan.txt is not the plan",
            ),
            ("nothing", f"{str(folder / 'plan.txt')!r} is not a usable plan"),
            (None, f"{str(folder)!r} has no plan.txt"),
        ):
            (folder / "plan.txt").unlink()
            if text is not None:
                (folder / "plan.txt").write_text(text)
            with pytest.raises(ConfigError) as caught:
                rescore(RunDir(tmp_path))
            assert str(caught.value).startswith(what)
            (folder / "plan.txt").touch()

    def test_a_record_of_another_shape_is_named_with_the_place(self, tmp_path: Path) -> None:
        rollout = self.stored(RunDir(tmp_path))
        path = rollout.plan("p2").path / "plan.json"
        path.write_text(path.read_text().replace('"passed"', '"odd"', 1))
        with pytest.raises(ConfigError) as caught:
            rollout.plan("p2").read_record()
        assert str(caught.value).startswith(
            f"{str(path)!r} is not a record of this version: verdicts.0.checks.0.outcome: Input"
        )


class TestMutants:
    def test_a_task_without_a_reference_is_named(self, task_dir: Path, tmp_path: Path) -> None:
        (task_dir / "mutants/mvp/m.yaml").write_text(
            "describe: d\nplan: test1\nfails_at: second\n"
            "edits: [{file: app.py, find: absent, replace: x}]\n"
        )
        task = load_task(task_dir)
        (mutant,) = load_mutants(task)
        with pytest.raises(TaskInvalid) as caught:
            apply_mutant(task, mutant, tmp_path / "app")
        where = str(task_dir / "mutants/mvp/m.yaml")
        message = "'absent' occurs 0 times in 'app.py', not once"
        assert caught.value.problems == (Problem(where, 1, message),)
        (task_dir / "reference/mvp/app.py").unlink()
        (task_dir / "reference/mvp").rmdir()
        with pytest.raises(TaskInvalid) as caught:
            apply_mutant(load_task(task_dir), mutant, tmp_path / "other")
        message = "no reference app for 'mvp'"
        assert caught.value.problems == (Problem(str(task_dir), 1, message),)

    def test_every_bad_file_is_named(self, task_dir: Path) -> None:
        for name, text in (("a", "["), ("b", "["), ("c", "edits: [{}]"), ("d", "plan: 1")):
            (task_dir / f"mutants/mvp/{name}.yaml").write_text(text)
        with pytest.raises(TaskInvalid) as caught:
            load_mutants(load_task(task_dir))
        named = [problem.file.rpartition("/")[2] for problem in caught.value.problems]
        assert sorted(set(named)) == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
        assert all(problem.line == 1 for problem in caught.value.problems)
        assert any(
            problem.message.startswith("edits.0.file: ") for problem in caught.value.problems
        )
        assert "http" not in str(caught.value)

    def test_links_of_the_reference_stay_links_and_edits_stay_inside(
        self, task_dir: Path, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.write_text("kept kept-once")
        (task_dir / "reference/mvp/link").symlink_to(outside)
        (task_dir / "mutants/mvp/m.yaml").write_text(
            "describe: d\nplan: test1\nfails_at: second\n"
            "edits: [{file: link, find: kept-once, replace: changed}]\n"
        )
        task = load_task(task_dir)
        (mutant,) = load_mutants(task)
        with pytest.raises(TaskInvalid) as caught:
            apply_mutant(task, mutant, tmp_path / "app")
        (problem,) = caught.value.problems
        assert problem.file == str(task_dir / "mutants/mvp/m.yaml")
        assert (problem.line, problem.message) == (1, "the reference has no file 'link'")
        assert (tmp_path / "app/link").is_symlink()
        assert outside.read_text() == "kept kept-once"


class TestRedaction:
    def test_a_secret_inside_a_secret_is_taken_out_whole(self) -> None:
        longer = "abcdef-ghijkl-mnopqr"
        assert redact(f"<{longer}>", ["abcdef-", longer, "ghijkl"]) == f"<{REDACTED}>"

    def test_the_shortest_secret_is_a_secret(self) -> None:
        assert redact("<abc123>", ["abc123"]) == f"<{REDACTED}>"

    def test_forms_of_a_secret_that_needs_escapes(self) -> None:
        assert redact(json.dumps(f"a{SECRET}b"), [SECRET]) == f'"a{REDACTED}b"'
        odd = "sk-\udcff-not-utf8"
        plain = odd.encode("utf-8", "surrogateescape")
        assert REDACTED in redact(base64.b64encode(plain).decode(), [odd])

    @pytest.mark.parametrize("before", [b"", b"x", b"xy"])
    @pytest.mark.parametrize("turned", [False, True])
    def test_nothing_of_an_encoded_secret_is_left_but_its_edges(
        self, before: bytes, *, turned: bool
    ) -> None:
        secret = "".join(chr(97 + n % 26) for n in range(30)) + ">>>???"
        shown = secret[::-1] if turned else secret
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(before + shown.encode() + b"tail").decode()
            left = redact(text, [secret]).replace(REDACTED, "")
            assert REDACTED in redact(text, [secret])
            assert len(left) <= 4 + 4 + 8

    @pytest.mark.parametrize("turned", [False, True])
    @pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
    def test_an_encoding_of_the_secret_alone_goes_whole(
        self, encode: Callable[[bytes], bytes], *, turned: bool
    ) -> None:
        secret = "~~~???>>>" * 3
        shown = encode((secret[::-1] if turned else secret).encode()).decode()
        assert redact(f"<{shown}>", [secret]) == f"<{REDACTED}>"

    @pytest.mark.parametrize("secret", ["sk-\udcff-no text", "k y/+&=%\u00e9!"])
    def test_every_spelling_of_its_bytes_goes_whole(self, secret: str) -> None:
        data = secret.encode("utf-8", "surrogateescape")
        for shown in (
            data.hex(),
            data.hex(" "),
            data.hex(":").upper(),
            "".join(f"%{byte:02X}" for byte in data),
            "".join(f"\\x{byte:02x}" for byte in data),
            quote(secret, safe="", errors="surrogateescape"),
            quote_plus(secret, errors="surrogateescape"),
            base64.b64encode(data).decode(),
        ):
            told = redact(f"<{shown}>", [secret])
            assert told.startswith(f"<{REDACTED}")
            assert len(told) <= len(REDACTED) + 6


class TestVerdicts:
    def test_every_fault_of_an_order_is_told(self) -> None:
        plan = make_plan(steps=[("a", "A.", 1), ("b", "B.", 1), ("c", "C.", 1)])
        said = [verdict("x", "passed", 0), verdict("b", "passed", 0), verdict("b", "passed", 0),
                verdict("y", "passed", 0), verdict("a", "passed", 0)]  # fmt: skip
        assert check_verdicts(plan, said) == [
            "step 'x' is not in the plan",
            "step 'b' has two verdicts",
            "step 'y' is not in the plan",
            "step 'a' is out of order",
            "step 'c' has no verdict",
        ]

    def test_faults_of_single_verdicts_are_told(self) -> None:
        plan = make_plan(steps=[("a", "A.", 1), ("b", "B.", 1), ("c", "C.", 1)])
        odd = [
            verdict("a", "passed", 0).model_copy(update={"checks": ()}),
            verdict("b", "fatal", 1).model_copy(update={"fatal": False}),
            verdict("c", "passed", 2).model_copy(update={"outcome": StepOutcome.NOT_REACHED}),
        ]
        seen = [Evidence(id=f"obs-{n}", seq=n, step="a", tool="snapshot") for n in range(2)]
        assert check_verdicts(plan, odd, seen) == [
            "step 'c' is not_reached, but nothing fatal stands before it",
            "step 'a': passed without a check",
            "step 'b': its failure is fatal, but the verdict says it is not",
            "step 'c': not_reached, but it has checks",
        ]
        both = verdict("b", "passed", 1).model_copy(update={"fatal": True})
        assert check_verdicts(plan, [verdict("a", "passed", 0), both], seen)[-2:] == [
            "step 'b': passed and fatal at once",
            "step 'b': evidence 'obs-1' was not captured during this step",
        ]

    def test_every_fault_of_a_pass_is_told(self) -> None:
        plan = make_plan(steps=[("a", "A.", 1)])
        bad = verdict("a", "fatal", 0).model_copy(
            update={"outcome": StepOutcome.PASSED, "evidence": ()}
        )
        assert check_verdicts(plan, [bad]) == [
            "step 'a': passed, but 'The count' did not pass",
            "step 'a': passed and fatal at once",
            "step 'a': passed without evidence",
        ]


class TestPlanBytes:
    def test_a_plan_may_be_so_large_and_no_larger(self) -> None:
        most = b"x" * MAX_PLAN_BYTES
        assert decode_plan(most, "t") == (most.decode(), [])
        message = f"is larger than {MAX_PLAN_BYTES} bytes"
        assert decode_plan(most + b"x", "t") == (None, [Problem("t", 1, message)])

    @pytest.mark.parametrize(("data", "line"), [(b"\xff\n\n", 1), (b"\na\n\xff\n\n", 3)])
    def test_a_byte_that_is_no_text_is_named_with_its_line(self, data: bytes, line: int) -> None:
        expected = Problem("t", line, "is not UTF-8: byte 0xff")
        assert decode_plan(data, "t") == (None, [expected])

    def test_a_task_that_is_not_there_is_named(self, task_dir: Path) -> None:
        for path, artifact, message in (
            (task_dir / "absent", "mvp", "no such task folder"),
            (task_dir, "../mvp", "no artifact can be named '../mvp'"),
        ):
            with pytest.raises(TaskInvalid) as caught:
                load_task(path, artifact)
            assert caught.value.problems == (Problem(str(path), 1, message),)

    def test_a_tasks_assets_are_found(self, task_dir: Path) -> None:
        (task_dir / "test_assets").mkdir()
        task = load_task(task_dir)
        assert (task.assets, task.test_assets) == (None, task_dir / "test_assets")

    def test_a_task_without_plans_names_the_folder(self, task_dir: Path) -> None:
        (task_dir / "tests/mvp/test1.txt").unlink()
        with pytest.raises(TaskInvalid) as caught:
            load_task(task_dir)
        folder = str(task_dir / "tests/mvp")
        assert caught.value.problems == (Problem(folder, 1, "has no test plans (*.txt)"),)


class TestPlans:
    def test_a_plan_with_notes_is_written_like_this(self) -> None:
        text = (
            "<test_plan>\n\n<purpose>\nSee.\n</purpose>\n\n<seeding_and_precondition>\nN/A\n"
            "</seeding_and_precondition>\n\nA note.\n\n<steps>\n<step>\n\n<name>\na\n</name>\n\n"
            "Do.\n\n<points>1</points>\n</step>\n\n</steps>\n\n<full_points>1</full_points>\n\n"
            "</test_plan>\n"
        )
        plan = parse_plan(text, "t.txt", "mvp.t")
        assert (plan.notes, plan.id) == ("A note.", "mvp.t")
        assert render_plan(plan) == text
        with pytest.raises(KeyError, match="absent"):
            plan.step("absent")

    def test_a_problem_is_an_error_unless_it_says_otherwise(self) -> None:
        scan = scan_tags("", "t")
        scan.report_line(3, "bad")
        assert scan.problems == [Problem("t", 3, "bad", "error")]

    def test_each_sentence_of_a_passage_stands_for_itself(self) -> None:
        prose = (
            "The name is shown. The count is shown. (non-fatal) The price is shown. "
            "If the colour is wrong, record it and continue with the next step. The end is shown."
        )
        excused = [
            quote
            for quote in (
                "The name is shown.", "The count is shown.", "The price is shown.",
                "If the colour is wrong", "The end is shown.",
            )
            if is_non_fatal(prose, quote)
        ]  # fmt: skip
        assert excused == ["The count is shown.", "If the colour is wrong"]

    def test_a_heading_in_capitals_marks_its_list(self) -> None:
        prose = "These checks ARE NON-FATAL:\n- The list is shown"
        assert is_non_fatal(prose, "The list is shown")


def test_no_tasks_are_bundled_beside_a_strange_place(monkeypatch: pytest.MonkeyPatch) -> None:
    from vibench_gym.core.tasks import task  # noqa: PLC0415 (its own file is what is moved)

    monkeypatch.setattr(task, "__file__", "/nonexistent/a/b/c/task.py")
    with pytest.raises(ConfigError, match="/nonexistent/a"):
        task.bundled_tasks_dir()
