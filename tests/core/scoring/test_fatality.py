# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.core.scoring.fatality import is_non_fatal, says_non_fatal
from vibench_gym.core.tasks.plan import scan_plan

if TYPE_CHECKING:
    from pathlib import Path

PROSE = """Unlock with the password.

Verify:
- The list is shown
- (non-fatal) The count is shown
- The list has these parts: (non-fatal)
  - a title
  * a date
- The menu is shown

Verify (non-fatal):

- A banner appears
- A logo appears
  that fills the line
- The page loads (fatal)

Click "Continue" and proceed to checkout.
Verify: the cart shows one item. (non-fatal) Then the total is 5.

Commentary: If the banner is missing, record the failure and continue. The price must be right.
The verifications below are non-fatal:
1. first thing
2) second thing
"""


@pytest.mark.parametrize(
    "quote",
    [
        "- (non-fatal) The count is shown",
        "The count is shown",
        "(non-fatal)   The count\nis shown",
        "Verify (non-fatal):",
        "A banner appears",
        "A logo appears that fills the line",
        "a title",
        "a date",
        "the cart shows one item. (non-fatal)",
        "the cart shows one item.",
        "If the banner is missing, record the failure and continue.",
        "first thing",
        "second thing",
    ],
)
def test_rule_2_the_plans_words_make_it_non_fatal(quote: str) -> None:
    assert is_non_fatal(PROSE, quote)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "  ",
        "(non-fatal)",
        "(non-fatal) The menu is shown",
        "Unlock with the password.",
        "The list is shown",
        "The menu is shown",
        "The page loads",
        'Click "Continue" and proceed to checkout.',
        "The price must be right.",
        "Then the total is 5.",
        "- The list is shown - (non-fatal) The count is shown",
        "is shown",
        "Verify",
    ],
)
def test_rule_2_a_claim_that_the_plan_does_not_carry_is_fatal(quote: str) -> None:
    assert not is_non_fatal(PROSE, quote)


@pytest.mark.parametrize(
    "sentence",
    [
        "(Non-fatal) The role is shown.",
        "If it still does not appear after these checks, continue to the next step.",
        "Score 0 and proceed to the next step.",
        "Continue the test anyway.",
        "If the gate is NOT shown: record as failed, continue",
        "Do not fail this step solely because the UI did not offer a reason field;",
        "If a price is missing, proceed anyway.",
        "If it was incorrectly accepted, record a failure, then fix the value before proceeding.",
        "If it is not available, skip this check.",
    ],
)
def test_words_to_go_on(sentence: str) -> None:
    assert says_non_fatal(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        'Click "Continue".',
        "Proceed to checkout with:",
        "If a modal shows, proceed to checkout.",
        "Do NOT proceed if the cart is empty.",
        "If cancellation is not possible, do not proceed with the remainder of the test plan.",
        "Unlock with the password to continue.",
        "Submit/continue if asked.",
        "The user cannot continue while inactive",
        "Verify (fatal): if it fails, continue.",
        "A visible control exists to proceed anyway",
    ],
)
def test_words_that_only_sound_like_it(sentence: str) -> None:
    assert not says_non_fatal(sentence)


def test_a_heading_governs_its_list_only() -> None:
    prose = (
        "Verify order (non-fatal):\n1. one thing\n2. two things\nThen verify more:\n- three things"
    )
    assert is_non_fatal(prose, "two things")
    assert not is_non_fatal(prose, "three things")


def test_a_fatal_heading_governs_nothing() -> None:
    assert not is_non_fatal("Verify (non-fatal) (fatal):\n- something", "something")


def test_a_short_quote_may_be_a_whole_item() -> None:
    assert is_non_fatal("- (non-fatal) A", "- (non-fatal) A")
    assert not is_non_fatal("- (non-fatal) A", "A")


def test_a_quote_across_a_heading_and_its_list() -> None:
    prose = "Verify (non-fatal):\n- one thing\n- two things\n\nGo on here."
    assert is_non_fatal(prose, "Verify (non-fatal):\n- one thing\n- two things")
    assert not is_non_fatal(prose, "- two things Go on here.")


@given(st.text(max_size=60), st.text(max_size=200))
def test_a_quote_that_is_not_there_never_counts(quote: str, prose: str) -> None:
    if " ".join(quote.split()) not in " ".join(prose.split()):
        assert not is_non_fatal(prose, quote)


@given(
    st.text(st.sampled_from("ab .-\n"), max_size=80), st.text(st.sampled_from("ab .-"), max_size=9)
)
def test_without_any_words_for_it_everything_is_fatal(prose: str, quote: str) -> None:
    assert not is_non_fatal(prose, quote)


@given(
    st.sampled_from(["- ", "* ", "1. ", ""]),
    st.from_regex(r"[a-z]{4,9} [a-z]{4,9}", fullmatch=True),
)
def test_the_mark_counts_in_front_and_behind(bullet: str, words: str) -> None:
    for line in (f"{bullet}(non-fatal) {words}", f"{bullet}{words} (non-fatal)"):
        assert is_non_fatal(f"Look.\n\n{line}\n", words)


def test_every_marked_line_of_the_real_plans_counts(vibench_root: Path) -> None:
    lines = 0
    for path in sorted(vibench_root.glob("prds/*/tests/*/*.txt")):
        plan, _ = scan_plan(path.read_text(), str(path), "t")
        assert plan is not None
        for step in plan.steps:
            for line in step.prose.splitlines():
                if line.strip().lower().startswith("- (non-fatal)"):
                    assert is_non_fatal(step.prose, line), (path, line)
                    lines += 1
    assert lines > 2000


def test_most_text_of_the_real_plans_is_fatal(vibench_root: Path) -> None:
    path = vibench_root / "prds/notes/tests/mvp/test1.txt"
    plan, _ = scan_plan(path.read_text(), str(path), "t")
    assert plan is not None
    step = plan.step("test_password_gate_blocks_access")
    assert not is_non_fatal(step.prose, "There is a masked password input field")
    assert is_non_fatal(step.prose, "No note-related information is visible")
