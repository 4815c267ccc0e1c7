# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a plan's text comes to, character for character, and what is told of it, word for word."""

from __future__ import annotations

import pytest

from support.plans import parse_plan, render_plan
from vibench_gym.core.errors import Problem
from vibench_gym.core.tasks.plan import MAX_PLAN_BYTES, decode_plan, scan_plan
from vibench_gym.core.tasks.plan_tags import MAX_PROBLEMS, scan_tags

STEP = "<step><name>one</name>Do it.<points>4</points></step>"
PRECONDITION = "<seeding_and_precondition>N/A</seeding_and_precondition>"
PLAN = (
    f"<test_plan>\n<purpose>p</purpose>{PRECONDITION}\n<steps>\n{STEP}\n</steps>\n"
    "<full_points>4</full_points></test_plan>\n"
)
OUTSIDE = "text outside <test_plan> is ignored"


def problems(text: str) -> list[Problem]:
    return scan_plan(text, "t.txt", "mvp.t")[1]


def prose(step: str) -> str:
    plan, found = scan_plan(PLAN.replace(STEP, step), "t.txt", "mvp.t")
    assert plan is not None
    assert not [problem for problem in found if problem.severity == "error"]
    return plan.steps[0].prose


def test_prose_around_tags_keeps_its_indents_and_gets_no_empty_lines() -> None:
    """Indents decide what a heading marks (rule 2)."""
    step = "<step>Look: <name>a</name> <points>4</points>  - a title\n</step>"
    assert prose(step) == "Look:\n  - a title"
    assert prose("<step><name>a</name>\n  Look.<points>4</points></step>") == "  Look."


def test_lone_carriage_returns_end_lines() -> None:
    step = "<step><name>a</name>Look:\r- a title\r\n- a date<points>4</points></step>"
    assert prose(step) == "Look:\n- a title\n- a date"


def test_a_byte_order_mark_and_crlf_are_told_as_warnings() -> None:
    text = "\ufeff" + PLAN.replace("<steps>\n", "<steps>\r\n")
    mark = "starts with a byte order mark (harmless; save as plain UTF-8)"
    ends = "has CRLF line ends (harmless; they are read as LF)"
    assert problems(text) == [
        Problem("t.txt", 1, mark, "warning"),
        Problem("t.txt", 3, ends, "warning"),
    ]


@pytest.mark.parametrize(
    ("text", "line"), [("x" + PLAN, 1), ("\n\nmore" + PLAN, 3), (PLAN + "x", 7)]
)
def test_text_outside_is_a_warning_at_its_line(text: str, line: int) -> None:
    assert problems(text) == [Problem("t.txt", line, OUTSIDE, "warning")]


def test_a_text_that_starts_with_an_empty_line_starts_at_line_1() -> None:
    assert problems("\nprose") == [Problem("t.txt", 1, "has no <test_plan>")]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (PLAN.replace("</test_plan>", ""), 1, "<test_plan> is not closed before line 7"),
        (PLAN.replace("</step>", ""), 4, "<step> is not closed before line 5"),
        (PLAN.replace("</steps>\n", ""), 3, "<steps> is not closed before line 5"),
    ],
)
def test_a_tag_that_is_not_closed_is_the_only_problem(text: str, line: int, message: str) -> None:
    """What is inside belongs to it still: nothing of it is text outside."""
    scan = scan_tags(text, "t.txt")
    assert scan.problems == [Problem("t.txt", line, message)]
    assert problems(text) == scan.problems


LOST = "text between steps belongs in a <step>"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (f"lost\n{STEP}", 4),
        (f"{STEP}\nlost", 5),
        (f"{STEP.replace('Do it.', 'It is lost.')}\n\n  lost", 6),
        (f"lost{STEP}\nmore", 4),
    ],
)
def test_text_between_steps_is_a_problem_at_its_own_line(steps: str, line: int) -> None:
    """Even where a step, or another place, says the same."""
    assert problems(PLAN.replace(STEP, steps)) == [Problem("t.txt", line, LOST)]


def test_a_byte_order_mark_is_no_text_outside() -> None:
    assert Problem("t.txt", 2, OUTSIDE, "warning") in problems(f"\ufeff\nx{PLAN}")


def test_text_outside_in_two_places_is_told_at_the_first() -> None:
    assert problems(f"\na\n{PLAN}b") == [Problem("t.txt", 2, OUTSIDE, "warning")]


def test_a_section_that_is_missing_is_the_only_problem() -> None:
    for section, tag in (("<purpose>p</purpose>", "purpose"), (PRECONDITION, PRECONDITION[1:25])):
        text = "\n\n" + PLAN.replace(section, "")
        assert problems(text) == [Problem("t.txt", 3, f"<test_plan> has no <{tag}>")]


def test_an_empty_precondition_is_the_only_problem() -> None:
    text = PLAN.replace("N/A", " ").replace("<seeding", "\n<seeding")
    assert problems(text) == [Problem("t.txt", 3, "empty precondition: write N/A")]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("<step>Do it.<points>4</points></step>", "<step> has no <name>"),
        ("<step><name> </name><points>4</points></step>", "step has an empty <name>"),
    ],
)
def test_a_step_without_a_name_is_one_problem(step: str, message: str) -> None:
    plan, found = scan_plan(PLAN.replace(STEP, step), "t.txt", "mvp.t")
    assert plan is None
    assert found == [Problem("t.txt", 4, message)]


def test_a_plan_without_steps_section_names_all_that_is_missing() -> None:
    text = f"\n<test_plan><purpose>p</purpose>{PRECONDITION}</test_plan>"
    plan, found = scan_plan(text, "t.txt", "mvp.t")
    assert plan is None
    assert found == [
        Problem("t.txt", 2, "has no <full_points>"),
        Problem("t.txt", 2, "has no <step>"),
    ]


def test_a_name_is_one_line_and_points_go_to_a_million() -> None:
    step = "<step><name>a  b\n c</name>Do it.<points>1000000</points></step>"
    plan, _ = scan_plan(PLAN.replace(STEP, step), "t.txt", "mvp.t")
    assert plan is not None
    assert (plan.steps[0].name, plan.steps[0].points) == ("a b c", 1_000_000)


def test_a_text_that_is_too_large_is_one_problem() -> None:
    message = f"is larger than {MAX_PLAN_BYTES} bytes"
    assert problems("x" * (MAX_PLAN_BYTES + 1)) == [Problem("t.txt", 1, message)]


def test_a_plan_may_be_so_large_and_no_larger() -> None:
    most = b"x" * MAX_PLAN_BYTES
    assert decode_plan(most, "t") == (most.decode(), [])
    message = f"is larger than {MAX_PLAN_BYTES} bytes"
    assert decode_plan(most + b"x", "t") == (None, [Problem("t", 1, message)])


@pytest.mark.parametrize(("data", "line"), [(b"\xff\n\n", 1), (b"\na\n\xff\n\n", 3)])
def test_a_byte_that_is_no_text_is_named_with_its_line(data: bytes, line: int) -> None:
    expected = Problem("t", line, "is not UTF-8: byte 0xff")
    assert decode_plan(data, "t") == (None, [expected])


def test_a_plan_with_notes_is_written_like_this() -> None:
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


HINT = "tags are in small letters"
DIFFERS = "; declared 4, the points that are there sum to 0"


@pytest.mark.parametrize(
    ("now", "line", "message"),
    [
        (
            STEP.replace("points>", "POINTS>"),
            4,
            f"step 'one' has no <points>; line 4 has <POINTS>: {HINT}{DIFFERS}",
        ),
        (STEP.replace("name>", "Name>"), 4, f"<step> has no <name>; line 4 has <Name>: {HINT}"),
        (
            STEP.replace("</step>", "</Step>"),
            4,
            f"<step> is not closed before line 5; line 4 has </Step>: {HINT}",
        ),
        (STEP.replace("step>", "STEP>"), 1, f"has no <step>; line 4 has <STEP>: {HINT}"),
    ],
)
def test_a_tag_in_other_letters_is_named_where_it_is_missed(
    now: str, line: int, message: str
) -> None:
    assert Problem("t.txt", line, message) in problems(PLAN.replace(STEP, now))


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("full_points", f"has no <full_points>; line 6 has <FULL_POINTS>: {HINT}"),
        ("purpose", f"<test_plan> has no <purpose>; line 2 has <PURPOSE>: {HINT}"),
        ("test_plan", f"has no <test_plan>; line 1 has <TEST_PLAN>: {HINT}"),
    ],
)
def test_so_is_a_section(tag: str, message: str) -> None:
    found = problems(PLAN.replace(f"{tag}>", f"{tag.upper()}>"))
    assert Problem("t.txt", 1, message) in found


def test_what_belongs_into_a_tag_in_other_letters_says_so() -> None:
    found = problems(PLAN.replace("<steps>", "<Steps>"))
    assert found[0] == Problem(
        "t.txt", 4, f"<step> is out of place: it belongs in <steps>; line 3 has <Steps>: {HINT}"
    )
    closed = problems(PLAN.replace("<points>", "<Points>"))
    assert closed[0] == Problem(
        "t.txt", 4, f"</points> closes nothing; line 4 has <Points>: {HINT}"
    )


def test_such_a_word_in_prose_is_text_and_no_hint_where_nothing_is_missed() -> None:
    assert problems(PLAN.replace("Do it.", "Type <Name> and <POINTS>.")) == []


def test_hints_are_looked_for_as_long_as_problems_are_kept() -> None:
    text = PLAN.replace(STEP, STEP + "</step>" * 60 + "<STEP>")
    assert len(problems(text)) == MAX_PROBLEMS
