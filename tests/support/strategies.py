# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Strategies for plans, verdicts and records: whatever a run might hold, good or not.

Needs hypothesis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from vibench_gym.core.records import PlanRecord
from vibench_gym.core.status import CheckOutcome, PlanStatus, StepOutcome
from vibench_gym.core.tasks.plan import Step, TestPlan
from vibench_gym.core.verdict import Check, Evidence, StepVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

PROSE = "Verify:\n- The list is shown\n- (non-fatal) The count is shown"
QUOTE = "- (non-fatal) The count is shown"

words = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12)
names = st.from_regex(r"[a-z][a-z0-9_]{0,15}", fullmatch=True)
evidence_ids = st.sampled_from(["obs-0", "obs-1", "obs-2", "obs-9"])
checks = st.builds(
    Check,
    text=words,
    outcome=st.sampled_from(CheckOutcome),
    fatal=st.booleans(),
    quote=st.sampled_from(["", QUOTE, "(non-fatal)", "made up"]),
)


@st.composite
def plans(draw: st.DrawFn, *, plan_id: str = "mvp.t") -> TestPlan:
    """A valid plan."""
    points = draw(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any))
    steps = tuple(Step(f"s{number}", PROSE, value) for number, value in enumerate(points))
    return TestPlan(plan_id, f"{plan_id}.txt", "text", "p", "N/A", steps, sum(points))


def verdicts(plan: TestPlan) -> st.SearchStrategy[list[StepVerdict]]:
    """Any verdicts: for steps of the plan and others, once or more often, in any order."""
    steps = st.sampled_from([*(step.name for step in plan.steps), "unknown"])
    one = st.builds(
        StepVerdict,
        step=steps,
        outcome=st.sampled_from(StepOutcome),
        fatal=st.booleans(),
        failed_check=st.none() | words,
        reason=words,
        checks=st.lists(checks, max_size=2).map(tuple),
        evidence=st.lists(evidence_ids, max_size=2).map(tuple),
    )
    return st.lists(one, max_size=len(plan.steps) + 2)


@st.composite
def honest_verdicts(draw: st.DrawFn, plan: TestPlan) -> list[StepVerdict]:
    """What a judge that keeps the rules says: in order, up to the first fatal failure."""
    said = []
    for number, step in enumerate(plan.steps):
        how = draw(st.sampled_from(["passed", "failed", "fatal"]))
        said.append(verdict(step.name, how, number))
        if how == "fatal":
            break
    return said


def verdict(step: str, how: str, number: int) -> StepVerdict:
    """One verdict: `passed`, `failed` (not fatal) or `fatal`."""
    passed = how == "passed"
    check = Check(
        text="The count",
        outcome=CheckOutcome.PASSED if passed else CheckOutcome.FAILED,
        fatal=how != "failed",
        quote=QUOTE if how == "failed" else "",
    )
    return StepVerdict(
        step=step,
        outcome=StepOutcome.PASSED if passed else StepOutcome.FAILED,
        fatal=how == "fatal",
        failed_check=None if passed else "The count",
        reason="" if passed else "none",
        checks=(check,),
        evidence=(f"obs-{number}",),
    )


def evidence_of(said: Sequence[StepVerdict]) -> list[Evidence]:
    """The observations that verdicts name, each captured in its step."""
    return [
        Evidence(id=item, seq=number, step=one.step, tool="snapshot")
        for number, one in enumerate(said)
        for item in one.evidence
    ]


@st.composite
def records(draw: st.DrawFn, plan: TestPlan) -> PlanRecord:
    """The record of a plan, in any status."""
    status = draw(st.sampled_from(PlanStatus))
    return PlanRecord(
        plan=plan.id,
        plan_sha256=plan.sha256,
        status=status,
        failure_kind=draw(st.none() | st.just("browser_failed")),
        error=draw(st.none() | words),
        verdicts=tuple(draw(verdicts(plan))),
    )


@st.composite
def rollouts(draw: st.DrawFn) -> tuple[list[TestPlan], dict[str, PlanRecord]]:
    """Plans of one task with their records; some may have none."""
    count = draw(st.integers(1, 4))
    made = [draw(plans(plan_id=f"mvp.t{number}")) for number in range(count)]
    kept = {plan.id: draw(records(plan)) for plan in made if draw(st.integers(0, 9))}
    return made, kept
