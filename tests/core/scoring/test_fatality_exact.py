# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Rule 2, passage by passage: what one line says excuses nothing beside it."""

from __future__ import annotations

import pytest

from vibench_gym.core.scoring.fatality import is_non_fatal, says_non_fatal
from vibench_gym.core.tasks.plan import scan_plan

TOTAL = "The total is right"
COLOUR = "the colour is green"


@pytest.mark.parametrize(
    "prose",
    [
        f"- (non-fatal) {TOTAL}\n- {TOTAL}",
        f"- {TOTAL}\n- (non-fatal) {TOTAL}",
        f"- (non-fatal) {TOTAL}\n- {TOTAL}\n- (non-fatal) {TOTAL}",
        f"- (non-fatal) {TOTAL}\n- (non-fatal) {TOTAL}\n- Look\n- {TOTAL}",
        f"(non-fatal) {TOTAL} {TOTAL}\n- {TOTAL}",
    ],
)
def test_a_quote_has_to_qualify_wherever_it_occurs(prose: str) -> None:
    assert not is_non_fatal(prose, TOTAL)


def test_a_quote_that_qualifies_wherever_it_occurs_counts() -> None:
    prose = f"- (non-fatal) {TOTAL}\n- Look\n- If {TOTAL}, go on even so\n- {TOTAL} (non-fatal)"
    assert is_non_fatal(prose, TOTAL)


def test_a_sentence_of_a_later_passage_stands_for_itself() -> None:
    prose = f"Open the cart and look.\n\n{TOTAL}. If {COLOUR}, record it and continue."
    assert not is_non_fatal(prose, f"{TOTAL}.")
    assert is_non_fatal(prose, f"If {COLOUR}, record it and continue.")


def test_words_to_go_on_may_open_a_passage() -> None:
    assert is_non_fatal(f"If {COLOUR}, record it and continue.", COLOUR)


@pytest.mark.parametrize(("item", "counts"), [("Logo", True), ("Bar", False)])
def test_a_quote_needs_four_letters_to_name_a_check(item: str, *, counts: bool) -> None:
    assert is_non_fatal(f"- (non-fatal) {item}", item) is counts


@pytest.mark.parametrize(
    "prose",
    [
        f"- (non-fatal) {TOTAL} (fatal)",
        f"- (non-fatal) {COLOUR}. {TOTAL}. (fatal)",
        f"- (fatal) {TOTAL} (non-fatal)",
        f"Verify (non-fatal):\n- {TOTAL}. (fatal)",
        f"{TOTAL}. (non-fatal) The page loads (fatal)",
    ],
)
def test_fatal_on_a_passage_wins_over_every_mark(prose: str) -> None:
    assert not is_non_fatal(prose, TOTAL)


@pytest.mark.parametrize("mark", ["(non-fatal)", "(nonfatal)", "[Non-fatal]", "(non\u2013fatal)"])
def test_a_mark_after_a_full_stop_belongs_to_the_sentence_before_it(mark: str) -> None:
    prose = f"It shows that {COLOUR}. {mark} {TOTAL}."
    assert is_non_fatal(prose, COLOUR)
    assert not is_non_fatal(prose, TOTAL)


class TestWrappedLines:
    @pytest.mark.parametrize(
        "prose",
        [
            f"{TOTAL} and\n{COLOUR} (non-fatal)",
            f"{TOTAL} and\n   {COLOUR} (non-fatal)",
            f"  {TOTAL} and\n{COLOUR} (non-fatal)",
            f"- {TOTAL} and\n  {COLOUR} (non-fatal)",
            f"- {TOTAL},\n  as it should, and\n {COLOUR} (non-fatal)",
        ],
    )
    def test_a_line_that_goes_on_is_one_passage_with_the_one_before(self, prose: str) -> None:
        assert is_non_fatal(prose, TOTAL)

    @pytest.mark.parametrize(
        "prose",
        [
            f"{TOTAL} and\n\n{COLOUR} (non-fatal)",
            f"{TOTAL} and\n \t\n{COLOUR} (non-fatal)",
            f"{TOTAL}\n- {COLOUR} (non-fatal)",
            f"- {TOTAL} and\n{COLOUR} (non-fatal)",
            f"  - {TOTAL} and\n  {COLOUR} (non-fatal)",
            f"- {COLOUR} (non-fatal)\n{TOTAL}",
        ],
    )
    def test_what_does_not_go_on_is_a_passage_of_its_own(self, prose: str) -> None:
        assert not is_non_fatal(prose, TOTAL)
        assert is_non_fatal(prose, COLOUR)

    @pytest.mark.parametrize("end", [".", ":", ";", "!", "?", ")", "]"])
    def test_a_line_that_has_an_end_takes_in_no_other(self, end: str) -> None:
        """The mark in front of the first line would excuse the second."""
        prose = f"(non-fatal) {COLOUR}{end}\n{TOTAL}"
        assert not is_non_fatal(prose, TOTAL)
        assert is_non_fatal(prose, COLOUR)


class TestLists:
    @pytest.mark.parametrize(
        "prose",
        [
            f"Verify (non-fatal):\n- Look\n- {TOTAL}",
            f"Verify (non-fatal):\n\n  {TOTAL}",
            f"  Verify (non-fatal):\n  - {TOTAL}",
            f"These (non-fatal) checks are made:\n- {TOTAL}",
            f"These checks are non-fatal:\n- {TOTAL}",
            f"- (non-fatal) These are shown\n  - {TOTAL}",
            f"- These are shown (non-fatal)\n  - {TOTAL}",
            f"- These are shown (non-fatal):\n  - {TOTAL}",
            f"- These (non-fatal) parts are shown:\n  - {TOTAL}",
            f"- (non-fatal) These are shown\n\t- {TOTAL}",
            f"- (non-fatal) These are shown\n  - Parts:\n    - {TOTAL}",
            f"- (non-fatal) These are shown.\n\n  {TOTAL}",
        ],
    )
    def test_what_is_listed_below_a_mark_may_fail(self, prose: str) -> None:
        assert is_non_fatal(prose, TOTAL)

    @pytest.mark.parametrize(
        "prose",
        [
            f"Verify (non-fatal):\n- Look\n\nThen verify:\n- {TOTAL}",
            f"Verify (non-fatal):\n\n{TOTAL}",
            f"Look (non-fatal)\n- {TOTAL}",
            f"Verify:\n- {TOTAL}",
            f"Verify (non-fatal) (fatal):\n- {TOTAL}",
            f"- (non-fatal) These are shown (fatal)\n  - {TOTAL}",
            f"- These are shown (fatal) (non-fatal)\n  - {TOTAL}",
            f"- (non-fatal) This is shown\n- {TOTAL}",
            f"  - (non-fatal) This is shown\n- {TOTAL}",
            f"    - (non-fatal) This is shown\n\t- {TOTAL}",
            f"- This (non-fatal) part is shown\n  - {TOTAL}",
            f"- (non-fatal) This is shown.\n\n{TOTAL}",
            f"- Open it.\n  Verify (non-fatal):\n  - Look\n- {TOTAL}",
        ],
    )
    def test_what_is_not_listed_below_a_mark_may_not(self, prose: str) -> None:
        assert not is_non_fatal(prose, TOTAL)

    def test_the_indent_of_a_steps_first_line_counts(self) -> None:
        """Two items of one list: the first is no parent of the second."""
        text = (
            "<test_plan><purpose>p</purpose>"
            "<seeding_and_precondition>N/A</seeding_and_precondition>\n<steps><step>\n"
            f"<name>a</name>\n\n  - (non-fatal) This is shown\n  - {TOTAL}\n\n"
            "<points>1</points></step></steps><full_points>1</full_points></test_plan>"
        )
        plan, problems = scan_plan(text, "t", "t")
        assert plan is not None
        assert not problems
        assert plan.steps[0].prose == f"  - (non-fatal) This is shown\n  - {TOTAL}"
        assert not is_non_fatal(plan.steps[0].prose, TOTAL)


def test_words_beside_a_literal_are_words() -> None:
    assert says_non_fatal("If it is missing, skip`Save`")
    assert not says_non_fatal("If it is shown, press `skip`")


def test_each_sentence_of_a_passage_stands_for_itself() -> None:
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


def test_a_heading_in_capitals_marks_its_list() -> None:
    prose = "These checks ARE NON-FATAL:\n- The list is shown"
    assert is_non_fatal(prose, "The list is shown")
