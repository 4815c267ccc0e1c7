# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What may be recorded, what is refused, and what a step comes to (scoring.md, rules 2, 3, 7-9)."""

from __future__ import annotations

import pytest

from support.grading import make_plan
from vibench_gym.core.errors import VerdictUnusable
from vibench_gym.core.scoring.scorecard import check_verdicts
from vibench_gym.core.status import CheckOutcome, StepOutcome
from vibench_gym.grading.qa.verdict_recorder import (
    MAX_CHECKS,
    MAX_TOO_EARLY,
    Reply,
    VerdictRecorder,
)

NON_FATAL = "(non-fatal) The colour is blue."
PLAN = make_plan(
    steps=(
        ("first", f"Open it.\n- The title is shown.\n- {NON_FATAL}", 3),
        ("second", "Press the button.", 7),
    )
)


def book() -> VerdictRecorder:
    return VerdictRecorder(PLAN)


def look(book: VerdictRecorder, evidence: str = "obs-1", *, shows_page: bool = True) -> None:
    book.add_evidence(evidence, shows_page=shows_page)
    book.begin_turn()


def record(
    book: VerdictRecorder, outcome: str, check: str = "title", step: str = "first", quote: str = ""
) -> Reply:
    book.begin_turn()
    return book.record_check(step=step, check=check, outcome=outcome, reason="seen", quote=quote)


def end(book: VerdictRecorder, outcome: str, step: str = "first") -> Reply:
    book.begin_turn()
    return book.end_step(step=step, outcome=outcome)


def test_steps_pass_in_order_with_their_evidence() -> None:
    b = book()
    look(b, "obs-1")
    look(b, "obs-2")
    assert record(b, "passed").kind == "recorded"
    reply = end(b, "passed")
    assert reply.kind == "next_step"
    assert reply.text.startswith("NEXT STEP: second\n\nPress the button.")
    look(b, "obs-3")
    record(b, "passed", step="second")
    assert end(b, "passed", "second").text.startswith("ALL STEPS DONE")
    first, second = b.verdicts()
    assert first.evidence == first.checks[0].evidence == ("obs-1", "obs-2")
    assert second.evidence == ("obs-3",)
    assert b.complete
    assert b.all_passed
    assert b.current is None
    assert check_verdicts(PLAN, b.verdicts()) == []


def test_a_fatal_failure_counts_only_after_a_second_look_and_keeps_both() -> None:
    b = book()
    look(b, "obs-1")
    reply = record(b, "failed")
    assert reply.kind == "look_again"
    assert reply.text.startswith("LOOK AGAIN")
    assert b.look_again_pending
    look(b, "obs-2")
    reply = record(b, "failed")
    assert reply.text.startswith("RECORDED failed. This is fatal")
    assert end(b, "failed").text.startswith("STOPPED")
    first, second = b.verdicts()
    assert first.fatal
    assert first.failed_check == "title"
    assert first.reason == "seen"
    assert first.checks[0].first_look == ("obs-1",)
    assert first.checks[0].evidence == ("obs-2",)
    assert second.outcome is StepOutcome.NOT_REACHED
    assert not b.all_passed
    assert check_verdicts(PLAN, b.verdicts()) == []


def test_a_second_look_may_turn_the_failure_into_a_pass() -> None:
    b = book()
    look(b, "obs-1")
    record(b, "failed")
    look(b, "obs-2")
    assert record(b, "passed", check="TITLE").kind == "recorded"
    assert end(b, "passed").kind == "next_step"
    assert b.verdicts()[0].checks[0].first_look == ("obs-1",)


def test_the_plan_decides_what_is_not_fatal() -> None:
    b = book()
    look(b)
    reply = record(b, "failed", check="colour", quote=NON_FATAL)
    assert reply.kind == "recorded"
    record(b, "passed")
    assert end(b, "failed").kind == "next_step"
    first = b.verdicts()[0]
    assert first.outcome is StepOutcome.FAILED
    assert not first.fatal
    assert first.failed_check == "colour"
    assert first.checks[0].quote == NON_FATAL
    assert check_verdicts(PLAN, [first, *b.verdicts()[1:]])[:1] != ["first"]


@pytest.mark.parametrize("text", [NON_FATAL, "The colour is blue."])
def test_a_passed_check_in_the_words_of_a_non_fatal_sentence_is_not_fatal(text: str) -> None:
    b = book()
    look(b)
    record(b, "passed", check=text)
    record(b, "passed", check="The title is shown.")
    end(b, "passed")
    own, other = b.verdicts()[0].checks
    assert (own.fatal, own.quote) == (False, text)
    assert (other.fatal, other.quote) == (True, "")


def test_a_failed_check_in_those_words_still_needs_the_quote() -> None:
    b = book()
    look(b)
    assert record(b, "failed", check=NON_FATAL).kind == "look_again"


@pytest.mark.parametrize("quote", ["(non-fatal) The sky is blue.", "The title is shown.", "x"])
def test_a_quote_that_the_step_does_not_hold_changes_nothing_but_is_flagged(quote: str) -> None:
    flags: list[str] = []
    b = VerdictRecorder(PLAN, on_flag=flags.append)
    look(b)
    assert record(b, "failed", quote=quote).kind == "look_again"
    assert "refused quote in first" in flags[0]
    look(b)
    record(b, "failed", quote=quote)
    end(b, "failed")
    assert b.verdicts()[0].fatal
    assert b.verdicts()[0].checks[0].quote == ""


def test_the_right_quote_at_the_second_look_still_counts() -> None:
    b = book()
    look(b)
    record(b, "failed", quote="nonsense")
    look(b)
    assert "not fatal" in record(b, "failed", quote=NON_FATAL).text


def test_a_pass_needs_an_observation_from_the_step_itself() -> None:
    b = book()
    look(b)
    record(b, "passed")
    end(b, "passed")
    reply = record(b, "passed", step="second")
    assert reply.kind == "refused"
    assert "looked at" in reply.text
    look(b, "obs-2")
    assert record(b, "passed", step="second").kind == "recorded"


def test_a_crashed_page_shows_nothing() -> None:
    b = book()
    look(b, shows_page=False)
    assert record(b, "passed").kind == "refused"


def test_a_verdict_together_with_its_action_comes_too_early() -> None:
    b = book()
    for _ in range(MAX_TOO_EARLY):
        b.begin_turn()
        b.add_evidence("obs", shows_page=True)
        b._open.shown_page = False  # type: ignore[union-attr]
        assert (
            "not seen the result" in b.record_check(step="first", check="x", outcome="passed").text
        )
    assert b.record_check(step="first", check="x", outcome="passed").kind == "refused"
    b.begin_turn()
    assert record(b, "passed").kind == "recorded"


def test_a_failure_needs_no_page() -> None:
    b = book()
    assert record(b, "blocked").kind == "look_again"
    look(b, shows_page=False)
    record(b, "blocked")
    end(b, "failed")
    verdict = b.verdicts()[0]
    assert verdict.outcome is StepOutcome.BLOCKED
    assert verdict.checks[0].outcome is CheckOutcome.BLOCKED


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([("check", "third", "passed")], "no step 'third'"),
        ([("check", "second", "passed")], "not reached yet"),
        ([("check", "first", "excellent")], "unknown outcome"),
        ([("check", "first", "100")], "unknown outcome"),
        ([("end", "first", "passed")], "no check is on record"),
        ([("end", "second", "passed")], "not reached yet"),
        ([("end", "first", "won")], "unknown outcome"),
        ([("ok", "first", "passed"), ("end", "first", "failed")], "contradicts"),
        ([("bad", "first", "failed"), ("end", "first", "passed")], "contradicts"),
        ([("bad", "first", "failed"), ("check", "first", "passed")], "end_step is the only"),
        ([("first_look", "first", "failed"), ("end", "first", "failed")], "once more first"),
        ([("first_look", "first", "failed"), ("check", "first", "passed")], "once more first"),
        ([("done", "first", "passed"), ("check", "first", "passed")], "has its verdict already"),
        ([("done", "first", "passed"), ("end", "first", "passed")], "has its verdict already"),
    ],
)
def test_verdicts_that_do_not_match_the_plan_are_refused_once_then_unusable(
    calls: list[tuple[str, str, str]], why: str
) -> None:
    def play(b: VerdictRecorder) -> Reply:
        reply = Reply("refused", "")
        for kind, step, outcome in calls:
            look(b)
            if kind == "end":
                reply = end(b, outcome, step)
            elif kind == "check":
                reply = record(b, outcome, check="another", step=step)
            elif kind == "first_look":
                reply = record(b, outcome, step=step)
            elif kind == "done":
                record(b, outcome, step=step)
                reply = end(b, outcome, step)
            else:
                for _ in range(2 if kind == "bad" else 1):
                    look(b)
                    reply = record(b, outcome, step=step)
        return reply

    b = book()
    reply = play(b)
    assert reply.kind == "refused"
    assert reply.text.startswith("REFUSED: ")
    assert why in reply.text
    calls[:] = calls[-1:]
    with pytest.raises(VerdictUnusable, match="refused again"):
        play(b)


def test_calls_of_one_turn_that_go_wrong_together_count_once() -> None:
    b = book()
    for _ in range(3):
        assert b.end_step(step="third", outcome="passed").kind == "refused"
    b.begin_turn()
    with pytest.raises(VerdictUnusable):
        b.end_step(step="third", outcome="passed")


def test_each_step_has_its_own_correction() -> None:
    b = book()
    assert end(b, "passed").kind == "refused"
    look(b)
    record(b, "passed")
    end(b, "passed")
    assert end(b, "passed", "second").kind == "refused"


def test_an_empty_check_and_too_many_are_refused() -> None:
    b = book()
    look(b)
    assert "needs a text" in record(b, "passed", check=" \n").text
    look(b)
    for number in range(MAX_CHECKS):
        b._open.refusals = 0  # type: ignore[union-attr]
        assert record(b, "passed", check=str(number)).kind == "recorded"
    assert "end the step" in record(b, "passed", check="more").text


def test_after_the_end_everything_is_refused() -> None:
    b = book()
    b.fail_current("the app runs", "it does not")
    assert record(b, "passed").kind == "refused"
    assert end(b, "passed").kind == "refused"
    b.add_evidence("obs-9", shows_page=True)
    b.begin_turn()
    b.fail_current("again", "nothing open")
    assert b.verdicts()[0].evidence == ()


def test_what_the_grader_measured_fails_the_step_fatally_and_keeps_points_of_earlier_ones() -> None:
    b = book()
    look(b)
    record(b, "passed")
    end(b, "passed")
    look(b, "obs-2")
    record(b, "failed", step="second")
    b.fail_current("the app runs", "exit code 3")
    first, second = b.verdicts()
    assert first.outcome is StepOutcome.PASSED
    assert second.fatal
    assert second.reason == "exit code 3"
    assert second.checks[-1].first_look == ("obs-2",)
    assert check_verdicts(PLAN, b.verdicts()) == []


def test_a_fatal_failure_explains_the_stop_even_after_a_non_fatal_one() -> None:
    b = book()
    look(b)
    record(b, "failed", check="colour", quote=NON_FATAL)
    record(b, "failed", check="title")
    look(b)
    record(b, "failed", check="title")
    end(b, "failed")
    assert b.verdicts()[0].failed_check == "title"


def test_long_texts_are_cut() -> None:
    b = book()
    look(b)
    record(b, "passed", check="x" * 10_000)
    assert len(b._open.checks[0].text) <= 1000  # type: ignore[union-attr]
