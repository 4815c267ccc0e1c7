# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Names, order and lines of what a run's folder holds, to the character."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.records import all_passed, three_plans
from vibench_gym.core.durable import write_atomic
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.event_stream import MAX_EVENT_BYTES
from vibench_gym.core.records import Event
from vibench_gym.core.rundir import PlanDir, RunDir

if TYPE_CHECKING:
    from pathlib import Path


def test_a_plans_folder_may_be_there_already(tmp_path: Path) -> None:
    folder = PlanDir(tmp_path / "a" / "b" / "plan")
    assert folder.create().create().downloads.is_dir()
    write_atomic(tmp_path / "c" / "d" / "file", "text")
    assert (tmp_path / "c" / "d" / "file").read_text() == "text"


def test_rollouts_are_numbered_and_read_in_natural_order(tmp_path: Path) -> None:
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


def test_an_unreadable_event_hides_none_after_it(tmp_path: Path) -> None:
    plan = PlanDir(tmp_path).create()
    first, last = Event(t=1, kind="phase"), Event(t=2, kind="phase")
    plan.append_event(first)
    with plan.events_path.open("ab") as file:
        file.write(b"{no event\n")
    plan.append_event(last)
    assert list(plan.events()) == [first, last]


def test_an_event_is_written_in_one_form(tmp_path: Path) -> None:
    plan = PlanDir(tmp_path).create()
    plan.append_event(Event(t=1, kind="flag", data={"b": 1, "a": {"d": 2, "c": 3}}))
    plan.append_event(Event(t=1, kind="flag", data={"z": "x" * MAX_EVENT_BYTES}))
    for line in plan.events_path.read_text().splitlines():
        assert line == json.dumps(json.loads(line), sort_keys=True)


def test_a_record_of_another_shape_is_named_with_the_place(tmp_path: Path) -> None:
    folder = PlanDir(tmp_path).create()
    folder.write_record(all_passed(three_plans()[2]))
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace('"passed"', '"odd"', 1))
    with pytest.raises(ConfigError) as caught:
        folder.read_record()
    assert str(caught.value).startswith(
        f"{str(path)!r} is not a record of this version: verdicts.0.checks.0.outcome: Input"
    )
