# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.docker.vibench_lab import card
from support.grading import make_plan
from vibench_gym.core.errors import VerdictUnusable
from vibench_gym.core.scoring.scorecard import check_verdicts, score_plan
from vibench_gym.core.status import StepOutcome
from vibench_gym.grading.vibench.judge_card import (
    CARD,
    MAX_CARD_BYTES,
    CardForged,
    Judged,
    forged_verdicts,
    read_card,
)

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.tasks.plan import TestPlan

SOFT = "Look (non-fatal): it is blue."
PLAN = make_plan("p", [("one", "Look.", 3), ("two", SOFT, 4), ("three", "Again.", 5)])


def read(folder: Path, text: str, plan: TestPlan = PLAN) -> Judged:
    (folder / CARD).write_text(text, encoding="utf-8")
    return read_card(folder, plan, str)


@pytest.mark.parametrize(
    ("passed", "score", "outcomes"),
    [
        ((True, True, True), 12, "passed passed passed"),
        ((True, False, True), 8, "passed failed passed"),
        ((True, False, False), 3, "passed failed not_reached"),
        ((False, False, False), 0, "failed not_reached not_reached"),
    ],
)
def test_points_are_the_plans(
    tmp_path: Path, passed: tuple[bool, ...], score: int, outcomes: str
) -> None:
    found = read(tmp_path, card(PLAN, passed))

    assert score_plan(PLAN, found.verdicts).score == score
    assert [str(verdict.outcome) for verdict in found.verdicts] == outcomes.split()
    assert check_verdicts(PLAN, found.verdicts, found.evidence) == []
    assert found.overview == "all was looked at"


def test_what_the_judge_says_of_a_failure_is_its_reason(tmp_path: Path) -> None:
    found = read(tmp_path, card(PLAN, (True, False, True)))

    assert found.verdicts[1].reason == "looked at two"
    assert found.verdicts[1].checks[0].quote == SOFT


def test_a_pass_after_a_fatal_failure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerdictUnusable, match="after the fatal failure in 'one'"):
        read(tmp_path, card(PLAN, (False, True, True)))


def test_a_step_without_points_passes_until_something_fails(tmp_path: Path) -> None:
    plan = make_plan("p", [("set up", "Log in.", 0), ("one", "Look.", 3), ("end", "Out.", 0)])

    good = read(tmp_path, card(plan, (True, True, True)), plan)
    bad = read(tmp_path, card(plan, (True, False, True)), plan)

    assert [verdict.outcome for verdict in good.verdicts] == [StepOutcome.PASSED] * 3
    assert [str(verdict.outcome) for verdict in bad.verdicts] == ["passed", "failed", "not_reached"]


def test_the_declared_sum_of_a_known_exception_is_no_claim(tmp_path: Path) -> None:
    text = PLAN.text.replace("<full_points>12<", "<full_points>20<")
    from vibench_gym.core.tasks.plan import scan_plan  # noqa: PLC0415 - of this test only

    plan, _ = scan_plan(text, "p.txt", "p")
    assert plan is not None

    assert read(tmp_path, card(plan, (True, True, True), full_points=20), plan).verdicts
    assert read(tmp_path, card(plan, (True, True, True), full_points=12), plan).verdicts


@pytest.mark.parametrize(
    "changes",
    [
        {"score": 13},
        {"score": -1},
        {"score": 1_000_000, "full_points": 1},
        {"full_points": 11},
        {"steps": []},
        {"steps": "all"},
        {"steps": [1, 2, 3]},
        {"steps": [{"description": "x"}] * 3},
        {"score": None},
        {"steps": [{"points": 12}, {"points": 0}, {"points": 0}]},
        {"steps": [{"points": 1}, {"points": 4}, {"points": 5}]},
        {"steps": [{"points": -3}, {"points": 4}, {"points": 5}]},
        {"steps": [{"points": 3}] * 4},
    ],
)
def test_what_does_not_fit_the_plan(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(VerdictUnusable):
        read(tmp_path, card(PLAN, (True, True, True), **changes))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, 12.5, "12", [12], {"n": 1}])
@pytest.mark.parametrize("field", ["score", "full_points"])
def test_what_the_judges_tool_cannot_write(tmp_path: Path, value: object, field: str) -> None:
    with pytest.raises(CardForged):
        read(tmp_path, card(PLAN, (True, True, True), **{field: value}))


def test_a_field_twice(tmp_path: Path) -> None:
    with pytest.raises(CardForged):
        read(tmp_path, card(PLAN, (True, True, True))[:-1] + ', "score": 12}')


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"score": 1' + "0" * 5000])
def test_what_is_no_card(tmp_path: Path, text: str) -> None:
    with pytest.raises(VerdictUnusable):
        read(tmp_path, text)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / CARD).write_bytes(b"\xff\xfe{}")

    with pytest.raises(VerdictUnusable):
        read_card(tmp_path, PLAN, str)


def test_a_card_that_is_missing_a_link_a_folder_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / CARD
    with pytest.raises(VerdictUnusable, match="left no card"):
        read_card(tmp_path, PLAN, str)
    (tmp_path / "there").write_text(card(PLAN, (True, True, True)), encoding="utf-8")
    path.symlink_to("there")
    with pytest.raises(VerdictUnusable, match="left no card"):
        read_card(tmp_path, PLAN, str)
    path.unlink()
    path.mkdir()
    with pytest.raises(VerdictUnusable):
        read_card(tmp_path, PLAN, str)
    path.rmdir()
    path.write_bytes(b" " * (MAX_CARD_BYTES + 1))
    with pytest.raises(VerdictUnusable, match="larger"):
        read_card(tmp_path, PLAN, str)


def test_texts_are_cleaned_and_cut(tmp_path: Path) -> None:
    steps = [
        {"description": "the key is hunter2 " * 500, "points": step.points} for step in PLAN.steps
    ]
    (tmp_path / CARD).write_text(card(PLAN, (True,) * 3, steps=steps), encoding="utf-8")
    found = read_card(tmp_path, PLAN, lambda text: text.replace("hunter2", "-"))

    assert "hunter2" not in repr(found)
    assert len(found.evidence[0].summary) <= 200


def test_a_forged_card_earns_nothing() -> None:
    verdicts = forged_verdicts(PLAN, "why")

    assert score_plan(PLAN, verdicts).score == 0
    assert check_verdicts(PLAN, verdicts) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "steps": JSON
            | st.lists(st.fixed_dictionaries({"points": st.integers(-9, 9) | JSON}), max_size=4),
            "score": st.integers(-20, 20) | JSON,
            "full_points": st.just(12) | JSON,
        },
    )
)
def test_whatever_a_card_says_it_earns_at_most_what_the_plan_has(
    tmp_path_factory: pytest.TempPathFactory, claim: dict[str, Any]
) -> None:
    try:
        found = read(tmp_path_factory.mktemp("card"), json.dumps(claim))
    except (VerdictUnusable, CardForged):
        return
    scored = score_plan(PLAN, found.verdicts)
    assert 0 <= scored.score == claim["score"] <= PLAN.full_points
