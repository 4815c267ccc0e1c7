# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Invariants of plans and of what their text makes fatal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.plans import content_of, parse_plan, render_plan
from vibench_gym.core.scoring.fatality import is_non_fatal
from vibench_gym.core.tasks.files import unique_ids
from vibench_gym.core.tasks.plan import Step, TestPlan, scan_plan
from vibench_gym.core.tasks.plan_tags import KNOWN_TAG

TAGS = ("test_plan", "purpose", "steps", "step", "name", "points", "full_points")
plain = (
    st.text(st.characters(codec="utf-8", blacklist_categories=["Cc"]), min_size=1, max_size=40)
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: text.strip("\ufeff \t\n\v\f") == text != "" and not KNOWN_TAG.search(text))
)
messy = st.lists(
    st.sampled_from([f"<{slash}{tag}>" for tag in TAGS for slash in ("", "/")])
    | st.text(max_size=8)
    | st.sampled_from(["7", "\r\n", "\ufeff", "<b>", "</", "(non-fatal)"]),
    max_size=60,
).map("".join)
lines = st.lists(
    st.sampled_from(
        [
            "- The list is shown",
            "- (non-fatal) The count is shown",
            "- (fatal) The total is right",
            "Verify (non-fatal):",
            "  - The colour is blue",
            "",
            "The cart shows one item. (non-fatal)",
            "If it fails, record the failure and continue with the next step.",
            "Click `Continue`.",
        ]
    ),
    min_size=1,
    max_size=8,
)


@given(st.lists(st.tuples(plain, plain, st.integers(0, 1000)), min_size=1, max_size=5))
def test_a_plan_comes_back_from_its_text(given_steps: list[tuple[str, str, int]]) -> None:
    steps = tuple(
        Step(f"s{number} {name}", prose, points + 1)
        for number, (name, prose, points) in enumerate(given_steps)
    )
    total = sum(step.points for step in steps)
    plan = TestPlan("mvp.t", "t", "", "To see.", "N/A", steps, total)
    text = render_plan(plan)
    again = parse_plan(text, "t", "mvp.t")
    assert content_of(again) == content_of(plan)
    assert again.text == text
    assert render_plan(again) == text


@given(messy)
def test_no_text_breaks_the_reader_and_every_problem_has_a_line(text: str) -> None:
    plan, problems = scan_plan(text, "t", "mvp.t")
    last = text.count("\n") + 1
    assert all(1 <= problem.line <= last for problem in problems)
    if plan is None:
        assert any(problem.severity == "error" for problem in problems)
    else:
        assert plan.text == text
        assert plan.full_points > 0
        assert len({step.name for step in plan.steps}) == len(plan.steps) > 0


@given(lines, st.text(max_size=30))
def test_a_quote_that_is_not_in_the_step_excuses_nothing(prose: list[str], quote: str) -> None:
    text = "\n".join(prose)
    if " ".join(quote.split()) not in " ".join(text.split()):
        assert not is_non_fatal(text, quote)


@given(lines)
def test_words_that_mark_nothing_excuse_nothing(prose: list[str]) -> None:
    text = "\n".join(prose)
    for quote in ("", " ", "(non-fatal)", "non-fatal", "- (fatal) The total is right"):
        assert not is_non_fatal(text, quote) or quote == "- (fatal) The total is right"
    assert not is_non_fatal(text, "- (fatal) The total is right")


@given(lines, st.data())
def test_a_quote_of_a_fatal_line_is_never_excused_by_its_neighbours(
    prose: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(prose)))
    text = "\n".join([*prose[:at], "- (fatal) The total is right", *prose[at:]])
    assert not is_non_fatal(text, "The total is right")


@given(st.lists(st.text(max_size=60), max_size=12))
def test_plan_ids_are_distinct_folder_names(stems: list[str]) -> None:
    ids = unique_ids("mvp", stems)
    assert len({one.casefold() for one in ids}) == len(stems)
    for one in ids:
        assert one.startswith("mvp.")
        assert not set(one) & set("/\\\0\n")
        assert len(one.encode()) < 256
