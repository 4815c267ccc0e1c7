# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.plans import content_of, parse_plan, render_plan
from vibench_gym.core.errors import Problem, TaskInvalid
from vibench_gym.core.tasks.plan import MAX_PLAN_BYTES, Step, TestPlan, decode_plan, scan_plan
from vibench_gym.core.tasks.plan_tags import KNOWN_TAG, MAX_PROBLEMS

if TYPE_CHECKING:
    from pathlib import Path

STEP = "<step><name>{name}</name>{prose}<points>{points}</points></step>"


def text_of(
    steps: str = STEP.format(name="one", prose="Do it.", points=4),
    *,
    full: str = "<full_points>4</full_points>",
    before: str = "<purpose>p</purpose><seeding_and_precondition>N/A</seeding_and_precondition>",
    after: str = "",
) -> str:
    return f"<test_plan>\n{before}\n<steps>\n{steps}\n</steps>\n{full}{after}</test_plan>\n"


def messages(text: str) -> list[str]:
    return [f"{p.line}: {p.message}" for p in scan_plan(text, "t.txt", "mvp.t")[1]]


def test_a_plan_keeps_its_bytes_and_says_what_it_holds() -> None:
    text = text_of()
    plan = parse_plan(text, "tests/mvp/t.txt", "mvp.t")
    assert plan.text == text
    assert plan.steps == (Step("one", "Do it.", 4, line=4),)
    assert (plan.purpose, plan.precondition, plan.full_points) == ("p", "N/A", 4)
    assert plan.stem == "t"
    assert len(plan.sha256) == 64
    assert plan.step("one").points == 4
    with pytest.raises(KeyError):
        plan.step("two")


def test_stray_words_in_angle_brackets_are_text() -> None:
    prose = "Open /users/<username> as <USER_B>, <- here; <notes>n</notes> 1 < 2 > 0 </b>"
    plan = parse_plan(text_of(STEP.format(name="a", prose=prose, points=4)), "t", "t")
    assert plan.steps[0].prose == prose


def test_text_beside_the_sections_is_kept_as_notes() -> None:
    plan = parse_plan(text_of(after="\n<notes>\n- mind this\n</notes>\n"), "t", "t")
    assert plan.notes == "<notes>\n- mind this\n</notes>"


@pytest.mark.parametrize(
    ("precondition", "needs"),
    [
        ("N/A", False),
        ("N/A - dates are UTC", False),
        ("**N/A**", False),
        ("n/a.", False),
        ("N/Available rooms exist", True),
        ("Two users exist; date N/A", True),
    ],
)
def test_only_the_first_word_decides_whether_a_plan_needs_seeding(
    precondition: str, *, needs: bool
) -> None:
    before = (
        f"<purpose>p</purpose><seeding_and_precondition>{precondition}</seeding_and_precondition>"
    )
    assert parse_plan(text_of(before=before), "t", "t").needs_seeding is needs


def test_rule_1_a_step_without_points_is_one_problem_that_tells_the_sum() -> None:
    steps = STEP.format(name="a", prose="x", points=4) + "\n<step><name>b</name>cut</step>"
    text = text_of(steps, full="<full_points>9</full_points>")
    assert messages(text) == [
        "5: step 'b' has no <points>; declared 9, the points that are there sum to 4"
    ]
    plan, _ = scan_plan(text, "t", "t")
    assert plan is not None
    assert (plan.full_points, plan.declared) == (4, 9)


def test_rule_1_a_step_without_points_where_the_sum_agrees() -> None:
    steps = STEP.format(name="a", prose="x", points=4) + "<step><name>b</name>cut</step>"
    assert messages(text_of(steps)) == ["4: step 'b' has no <points>"]


def test_rule_1_another_declared_number() -> None:
    text = text_of(full="<full_points>5</full_points>")
    assert messages(text) == ["6: <full_points> declares 5, the steps sum to 4"]
    with pytest.raises(TaskInvalid, match=r"t\.txt:6: <full_points> declares 5"):
        parse_plan(text, "t.txt", "t")


def test_rule_1_a_repeated_step_name_makes_a_plan_unusable() -> None:
    step = STEP.format(name="a", prose="x", points=2)
    plan, problems = scan_plan(text_of(f"{step}\n{step}"), "t", "t")
    assert plan is None
    assert [str(p) for p in problems] == ["t:5: step 'a' repeats the name of line 4"]


def test_rule_1_no_step() -> None:
    plan, problems = scan_plan(text_of("", full="<full_points>0</full_points>"), "t", "t")
    assert plan is None
    assert [p.message for p in problems] == ["has no <step>"]


def test_rule_1_no_steps_section() -> None:
    text = "<test_plan><purpose>p</purpose><full_points>1</full_points></test_plan>"
    assert scan_plan(text, "t", "t")[0] is None
    assert "1: <test_plan> has no <seeding_and_precondition>" in messages(text)


def test_rule_5_nothing_to_earn() -> None:
    text = text_of(STEP.format(name="a", prose="x", points=0), full="<full_points>0</full_points>")
    assert scan_plan(text, "t", "t")[0] is None
    assert messages(text) == ["1: the steps sum to 0 points: nothing can be earned"]


@pytest.mark.parametrize("points", ["eight", "-1", "1.5", "1e3", "٣", "", "9999999", "1 2"])
def test_points_that_are_no_whole_number(points: str) -> None:
    found = messages(text_of(STEP.format(name="a", prose="x", points=points)))
    assert found[0].startswith("4: <points> is no whole number from 0 to 1000000: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just prose", "1: has no <test_plan>"),
        ("", "1: has no <test_plan>"),
        (text_of() + text_of(), "7: second <test_plan> in one <file>"),
        (text_of("<step><points>4</points>x</step>"), "4: <step> has no <name>"),
        (text_of(STEP.format(name=" ", prose="x", points=4)), "4: step has an empty <name>"),
        (
            text_of(STEP.format(name="a", prose="x <points>1</points>", points=3)),
            "4: second <points> in one <step>",
        ),
        (
            text_of(STEP.format(name="a", prose="the <step> here", points=4)),
            "4: <step> is not closed before line 4",
        ),
        (text_of(STEP.format(name="a", prose="x</purpose>", points=4)), "4: </purpose> closes"),
        (text_of(full=""), "1: has no <full_points>"),
        (text_of("<step><name>a</step>"), "4: <name> is not closed before line 4"),
        (text_of(before="<name>n</name>"), "2: <name> is out of place: it belongs in <step>"),
        (
            text_of(before="<seeding_and_precondition>N/A</seeding_and_precondition>"),
            "1: <test_plan> has no <purpose>",
        ),
        (
            text_of(
                before="<purpose>p</purpose><seeding_and_precondition> </seeding_and_precondition>"
            ),
            "2: empty precondition: write N/A",
        ),
        (text_of(STEP.format(name="a", prose="x", points=4) + "lost"), "4: text between steps"),
        (text_of().replace("</test_plan>", ""), "1: <test_plan> is not closed before line 7"),
        (text_of() + "more", "7: text outside <test_plan> is ignored"),
        (
            text_of("<step><name>a<points>4</points></step>"),
            "4: <name> is not closed before line 4",
        ),
    ],
)
def test_tags_out_of_place_are_named_with_their_line(text: str, message: str) -> None:
    assert any(found.startswith(message) for found in messages(text)), messages(text)


def test_crlf_and_byte_order_mark_are_told_and_harmless() -> None:
    prose = "Do it.\nThen look."
    step = STEP.format(name="a", prose=prose, points=4)
    text = "\ufeff" + text_of(step).replace("\n", "\r\n")
    plan, problems = scan_plan(text, "t.txt", "t")
    assert plan is not None
    assert plan.steps[0].prose == prose
    assert [(p.line, p.severity) for p in problems] == [(1, "warning"), (1, "warning")]
    assert parse_plan(text, "t.txt", "t").text == text


def test_bytes_that_are_not_utf8_or_too_many() -> None:
    assert decode_plan(b"a\nb\xff", "t.txt") == (
        None,
        [Problem("t.txt", 2, "is not UTF-8: byte 0xff")],
    )
    assert decode_plan(b"x" * (MAX_PLAN_BYTES + 1), "t")[0] is None
    assert scan_plan("x" * (MAX_PLAN_BYTES + 1), "t", "t")[0] is None
    assert decode_plan("é".encode(), "t") == ("é", [])


def test_a_file_that_is_no_plan_does_not_fill_the_screen() -> None:
    assert len(messages("</step>" * 1000)) == MAX_PROBLEMS


def test_a_text_with_a_tag_cannot_be_rendered() -> None:
    plan = parse_plan(text_of(), "t", "t")
    bad = TestPlan("t", "t", "", "a <step> b", "N/A", plan.steps, 4)
    with pytest.raises(ValueError, match="<step>"):
        render_plan(bad)


def test_rendering_without_declared_points() -> None:
    plan = TestPlan("t", "t", "", "p", "N/A", (Step("a", "x", 1),), None)
    assert "full_points" not in render_plan(plan)


prose = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r\ufeff"), max_size=80)
    .map(str.strip)
    .map(lambda text: text.strip("\ufeff \t\n\v\f"))
    .filter(lambda text: not KNOWN_TAG.search(text))
)
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
plans = st.builds(
    lambda purpose, pre, steps, notes: TestPlan(
        "t", "t", "", purpose, pre, tuple(steps), sum(s.points for s in steps), notes
    ),
    prose,
    prose.filter(bool),
    st.lists(
        st.builds(Step, names, prose, st.integers(0, 100)),
        min_size=1,
        max_size=5,
        unique_by=lambda step: step.name,
    ).filter(lambda steps: any(step.points for step in steps)),
    prose,
)


@given(plans)
def test_rendering_and_parsing_give_the_same_content(plan: TestPlan) -> None:
    assert content_of(parse_plan(render_plan(plan), "t", "t")) == content_of(plan)


@given(st.text(st.sampled_from([*"<>/ \nab1"]) | st.characters(codec="utf-8"), max_size=200))
def test_no_text_breaks_the_scanner(text: str) -> None:
    scan_plan(text, "t", "t")


@given(
    st.lists(
        st.sampled_from(
            [
                f"<{s}{t}>"
                for t in ("test_plan", "steps", "step", "name", "points")
                for s in ("", "/")
            ]
            + ["1", " a ", "\n"]
        ),
        max_size=40,
    )
)
def test_no_order_of_tags_breaks_the_scanner(parts: list[str]) -> None:
    plan, problems = scan_plan("".join(parts), "t", "t")
    assert plan is not None or problems


def test_every_real_plan_survives_a_round_trip(vibench_root: Path) -> None:
    for path in sorted(vibench_root.glob("prds/*/tests/*/*.txt")):
        text, problems = decode_plan(path.read_bytes(), str(path))
        assert text is not None
        assert not problems
        plan, problems = scan_plan(text, str(path), "t")
        assert plan is not None
        if not problems:
            assert content_of(parse_plan(render_plan(plan), "t", "t")) == content_of(plan)
