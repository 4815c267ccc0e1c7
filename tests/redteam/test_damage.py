# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The host loses power, or a run's files are cut: no score comes of it, and no more is lost."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from support.attacks.case import redteam
from support.faults.power_cut import Disk, Left
from support.grading import FakeModels, agent, failing, make_app, make_plan, make_task, passing
from support.grading_lab import Lab
from vibench_gym.cli.rescore import run_rescore
from vibench_gym.core.errors import OperatorFault
from vibench_gym.core.rundir import RolloutDir, RunDir
from vibench_gym.core.scoring.rescore import rescore_readable
from vibench_gym.report.html import make_report
from vibench_gym.report.load import load_run
from vibench_gym.testing.fakes.browser import FakeBrowser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.attacks.case import Seen
    from vibench_gym.browser.base import Browser, BrowserLaunch
    from vibench_gym.core.records import RolloutRecord

PLANS = (make_plan("mvp-test1"), make_plan("mvp-test2", (("only", "Look é and see.", 5),)))
TASK = make_task(*PLANS)
FULL = 1.0
RECORDS = ("plan.txt", "plan.json", "scorecard.json", "rollout.json")


class Cameras:
    """A BrowserLauncher whose fakes keep pictures."""

    async def launch(self, options: BrowserLaunch) -> Browser:
        options.screenshots_dir.mkdir(parents=True, exist_ok=True)
        return FakeBrowser(screenshots_dir=options.screenshots_dir)


@dataclass
class Bench:
    """Grades a good app, and a bad one that scores nothing, into one run directory."""

    root: Path
    measured: list[str] = field(default_factory=list)
    """Plans that the last grading looked at."""
    done: list[str] = field(default_factory=list)
    """Plans that it has said to be done with."""

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def rollout(self) -> RolloutDir:
        return RolloutDir(self.run / "task" / "label")

    async def grade(self, app: str = "good") -> RolloutRecord:
        """Go on with what is there.

        Raises:
            OperatorFault: it cannot be gone on with.
        """
        folder = make_app(self.root / app)
        (folder / "name").write_text(app)
        good = app == "good"

        def judge(plan: Any) -> Any:
            self.measured.append(plan.id)
            return agent(passing(plan) if good else failing(plan, plan.steps[0].name))

        lab = Lab(self.root, models=FakeModels(qa=judge), browsers=Cameras())  # type: ignore[arg-type]
        self.measured, self.done = [], []
        if not self.rollout.path.exists():
            RunDir(self.run).rollout(TASK, "label")
        return await lab.grader().grade(
            TASK,
            folder,
            rollout=self.rollout,
            label="label",
            resume=True,
            progress=lambda event: (
                self.done.append(str(event.plan)) if event.kind == "plan_done" else None
            ),
        )


def copy_of(bench: Bench, folder: Path) -> Bench:
    shutil.copytree(bench.run, folder / "run")
    return Bench(folder)


def cuts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every kind of place at which a file may be cut, and what a disk gives for lost blocks."""
    yield "empty", b""
    yield "first byte", data[:1]
    yield "half", data[: len(data) // 2]
    yield "within a character", data[: data.find("é".encode()) + 1]
    yield "last bytes", data[:-2]
    yield "zeros", bytes(len(data))
    yield "half of it zeros", data[: len(data) // 2] + bytes(len(data) - len(data) // 2)


def read(bench: Bench) -> tuple[list[str], list[str]]:
    """What report and rescore leave out; whatever they raise is a failure."""
    try:
        made, again = make_report(bench.run), run_rescore(bench.run)
    except OperatorFault as fault:
        return pytest.fail(f"one file stops everything: {fault}")
    page = made.path.read_text(encoding="utf-8")
    assert all(str(cut.path) in page for cut in made.unreadable)
    assert all(plan.identical for plan in again.plans)
    return [str(cut.path) for cut in made.unreadable], [cut.path for cut in again.unreadable]


async def gone_on(bench: Bench, app: str = "good") -> RolloutRecord:
    try:
        return await bench.grade(app)
    except OperatorFault as fault:
        return pytest.fail(f"a grading cannot be gone on with: {fault}")


def assert_whole(bench: Bench, reward: float, where: object) -> None:
    again = rescore_readable(RunDir(bench.run))
    assert not again.unreadable, where
    assert [(one.identical, one.score and one.score.reward) for one in again.rollouts] == [
        (True, reward)
    ], where
    for plan in bench.rollout.plans():
        stored = plan.read_record()
        assert stored is not None, where
        for item in stored.evidence:
            picture = plan.screenshots / str(item.screenshot)
            assert picture.is_file(), f"{where}: {picture} is lost"
            assert picture.read_bytes().startswith(b"\xff\xd8"), f"{where}: {picture} is lost"


@redteam(
    "rollouts",
    gain="(a broken host) have a file that is cut end every command on the run",
    expected="left out and named; measured again on resume, nothing else is",
    defences=[
        *("cut_is_not_measured", "cut_rollout_is_not_measured"),
        *("cut_plan_is_mended", "cut_is_left_out"),
    ],
)
async def test_any_file_of_a_run_may_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Seen
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # nobody cuts the power: be quick
    whole = Bench(tmp_path)
    await whole.grade()
    files = [path for path in whole.run.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {*RECORDS, "artifact.sha256", "events.jsonl"}
    tried = 0
    for path in files:
        for how, data in cuts(path.read_bytes()):
            bench = copy_of(whole, tmp_path / f"{tried}")
            place = bench.run / path.relative_to(whole.run)
            place.write_bytes(data)
            where = f"{path.relative_to(whole.run)}: {how}"
            reported, rescored = read(bench)
            if path.name in RECORDS:
                assert rescored == [str(place)], where
                assert reported == ([] if path.name == "plan.txt" else [str(place)]), where
            else:
                assert (reported, rescored) == ([], []), where
            record = await gone_on(bench)
            assert (record.reward, record.mask_sample) == (FULL, False), where
            lost = {"plan.json": [path.parent.name], "scorecard.json": [path.parent.name]}
            lost["rollout.json"] = [plan.id for plan in PLANS]
            assert sorted(bench.measured) == lost.get(path.name, []), where
            if path.parent.name != "screenshots":
                assert_whole(bench, FULL, where)
            shutil.rmtree(bench.root)
            tried += 1
    seen(f"{tried} cuts of {len(files)} files")


async def test_a_whole_run_is_read_whole_and_nothing_is_measured_again(tmp_path: Path) -> None:
    """The honest twin."""
    bench = Bench(tmp_path)
    await bench.grade()
    assert read(bench) == ([], [])
    await bench.grade()
    assert bench.measured == []
    assert_whole(bench, FULL, "")


async def tried(bench: Bench, left: Left, app: str, reward: float) -> None:
    """Start the host again: the app gets what it earns, and what was done stays done."""
    after = Bench(bench.root / "after")
    left.put(after.run)
    where = f"{left.how}, then {app}"
    read_any(after)
    record = await gone_on(after, app)
    assert (record.reward, record.mask_sample) == (reward, False), where
    app_then, done = left.told
    again = [plan for plan in after.measured if plan in done and app == app_then]
    assert not again, f"{where}: {again} had been measured"
    assert_whole(after, reward, where)
    shutil.rmtree(after.root)


def read_any(bench: Bench) -> None:
    """What a power cut left can be looked at before it is gone on with, if anything is there."""
    if any(True for _ in RunDir(bench.run).rollouts()):
        try:
            load_run(bench.run)
            rescore_readable(RunDir(bench.run))
        except OperatorFault as fault:
            pytest.fail(f"one file stops everything: {fault}")


@redteam(
    "rollouts",
    gain="(a host that loses power) lose what was measured, or score one app for another",
    expected="at any moment: the plan at hand is lost, no other; each app gets its own score",
    defences=[
        *("records_synced", "names_synced", "folders_synced"),
        *("record_goes_first", "evidence_synced"),
    ],
)
@pytest.mark.long
@pytest.mark.timeout(900)
async def test_the_power_fails_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Seen
) -> None:
    bench, app = Bench(tmp_path), "good"
    bench.run.mkdir()
    disk = Disk(bench.run, lambda: (app, tuple(bench.done)))
    with disk.recording(monkeypatch):
        assert (await bench.grade("good")).reward == FULL
    second = Disk(bench.run, lambda: (app, tuple(bench.done)))
    app = "bad"
    with second.recording(monkeypatch):
        assert (await bench.grade("bad")).reward == 0.0
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # no more power cuts: be quick
    for left in second.left:
        await tried(bench, left, "bad", 0.0)
        await tried(bench, left, "good", FULL)
    for left in disk.left:
        await tried(bench, left, "good", FULL)
    seen(f"{len(disk.left) + len(second.left)} states of the disk")
