# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Turns the card that ViBench's judge leaves into verdicts: whole steps of the plan, or nothing.

The card is a file in the app's own container. It is read as a claim about each step, passed or not;
every number of the score is the plan's. What does not fit the plan is unusable (scoring.md, rule 9)
and what the judge's own tool cannot have written is a forgery.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vibench_gym.core.errors import SubmissionFault, VerdictUnusable
from vibench_gym.core.scoring.fatality import is_non_fatal
from vibench_gym.core.scoring.scorecard import check_verdicts
from vibench_gym.core.status import CheckOutcome, StepOutcome
from vibench_gym.core.verdict import Check, Evidence, StepVerdict
from vibench_gym.grading.qa.verdict_recorder import nothing_reached
from vibench_gym.grading.untrusted.text import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from vibench_gym.core.tasks.plan import Step, TestPlan

CARD: Final = "evaluation-finished.json"
MAX_CARD_BYTES: Final = 2 * 1024 * 1024
_TEXT_CHARS: Final = 2000


class CardForged(SubmissionFault):
    """The card holds what the judge's tool cannot write: something in the container did."""


class Judged(NamedTuple):
    """What a card comes to."""

    verdicts: tuple[StepVerdict, ...]
    evidence: tuple[Evidence, ...]
    overview: str


def read_card(folder: Path, plan: TestPlan, clean: Callable[[str], str]) -> Judged:
    """The verdicts of the card in a folder; texts go through `clean` first.

    Raises:
        VerdictUnusable: there is no card, or it does not fit the plan.
        CardForged: the judge's tool cannot have written it.
    """
    data = _load(_bytes(folder / CARD))
    if not isinstance(data, dict):
        raise VerdictUnusable("the judge's card is no JSON object")
    steps = data.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise VerdictUnusable("the judge's card has no list of steps")
    claims = [_whole(step.get("points"), "points of a step") for step in steps]
    score = _whole(data.get("score"), "score")
    full = _whole(data.get("full_points"), "full_points")
    _fit(plan, claims, score, full)
    told = [clip(clean(_text(step.get("description"))), _TEXT_CHARS) for step in steps]
    verdicts, evidence = _verdicts(plan, claims, told)
    if problems := check_verdicts(plan, verdicts, evidence):
        raise VerdictUnusable(f"the judge's card breaks the plan's rules: {problems[0]}")
    return Judged(verdicts, evidence, clip(clean(_text(data.get("test_overview"))), _TEXT_CHARS))


def forged_verdicts(plan: TestPlan, why: str) -> tuple[StepVerdict, ...]:
    """The verdicts of a plan whose card was forged: nothing passed."""
    first, *rest = nothing_reached(plan)
    check = Check(text="the card is the judge's", outcome=CheckOutcome.BLOCKED, fatal=True)
    blocked = StepVerdict(
        step=first.step,
        outcome=StepOutcome.BLOCKED,
        fatal=True,
        failed_check=check.text,
        reason=why,
        checks=(check,),
    )
    return (blocked, *rest)


def _bytes(path: Path) -> bytes:
    """The card's bytes: a regular file's, never through a link.

    Raises:
        VerdictUnusable: there is none.
    """
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise VerdictUnusable("the judge's card is no file")
            data = file.read(MAX_CARD_BYTES + 1)
    except OSError as error:
        raise VerdictUnusable(f"the judge left no card: {error.strerror}") from error
    if len(data) > MAX_CARD_BYTES:
        raise VerdictUnusable(f"the judge's card is larger than {MAX_CARD_BYTES} bytes")
    return data


def _load(data: bytes) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        raise VerdictUnusable(f"the judge's card is no JSON: {clip(str(error), 200)}") from error


def _refuse_constant(name: str) -> None:
    raise CardForged(f"the card holds {name}, which the judge's tool cannot write")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise CardForged("the card names a field twice, which the judge's tool cannot do")
    return found


def _whole(value: object, what: str) -> int:
    """A number as the tool writes it.

    Raises:
        VerdictUnusable: it is not there.
        CardForged: it is there, and of no kind that the tool can write.
    """
    if value is None:
        raise VerdictUnusable(f"the judge's card has no {what}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise CardForged(
            f"{what} is {clip(repr(value), 80)}: the judge's tool writes whole numbers"
        )
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _fit(plan: TestPlan, claims: list[int], score: int, full: int) -> None:
    """Compare the card's numbers with the plan's and with each other.

    Raises:
        VerdictUnusable: they do not fit.
    """
    if len(claims) != len(plan.steps):
        raise VerdictUnusable(
            f"the judge's card has {len(claims)} steps, the plan {len(plan.steps)}"
        )
    for step, points in zip(plan.steps, claims, strict=True):
        if points not in {0, step.points}:
            raise VerdictUnusable(
                f"step {step.name!r}: {points} points, where it earns {step.points} or none"
            )
    if score != sum(claims):
        raise VerdictUnusable(f"score is {score}, and the steps' points sum to {sum(claims)}")
    if full not in {plan.full_points, plan.declared}:
        raise VerdictUnusable(f"full_points is {full}, and the plan's are {plan.full_points}")


def _verdicts(
    plan: TestPlan, claims: list[int], told: list[str]
) -> tuple[tuple[StepVerdict, ...], tuple[Evidence, ...]]:
    """One verdict a step, in the plan's order.

    A step that earns nothing may have passed all the same: it has, if the judge went on from it,
    or nothing failed before it.

    Raises:
        VerdictUnusable: the judge went on from a failure, and nothing in the step's text allows it.
    """
    last = max((at for at, points in enumerate(claims) if points), default=-1)
    verdicts: list[StepVerdict] = []
    evidence: list[Evidence] = []
    stopped = False
    for at, step in enumerate(plan.steps):
        if stopped:
            verdicts.append(StepVerdict(step=step.name, outcome=StepOutcome.NOT_REACHED))
            continue
        item = Evidence(
            id=f"card-{at + 1}", seq=at, step=step.name, tool="vibench", summary=told[at][:200]
        )
        evidence.append(item)
        passed = bool(claims[at]) or not step.points
        goes_on = at < last
        verdicts.append(_verdict(step, item, told[at], passed=passed, goes_on=goes_on))
        stopped = verdicts[-1].fatal
    return tuple(verdicts), tuple(evidence)


def _verdict(step: Step, item: Evidence, told: str, *, passed: bool, goes_on: bool) -> StepVerdict:
    quote = "" if passed or not goes_on else next(_non_fatal_words(step.prose), "")
    fatal = not passed and not quote
    if fatal and goes_on:
        raise VerdictUnusable(
            f"the judge's card passes steps after the fatal failure in {step.name!r}"
        )
    check = Check(
        text="all that the step asks for",
        outcome=CheckOutcome.PASSED if passed else CheckOutcome.FAILED,
        fatal=not quote,
        reason="" if passed else told,
        quote=quote,
        evidence=(item.id,),
    )
    return StepVerdict(
        step=step.name,
        outcome=StepOutcome.PASSED if passed else StepOutcome.FAILED,
        fatal=fatal,
        failed_check=None if passed else check.text,
        reason=check.reason,
        checks=(check,),
        evidence=(item.id,),
    )


def _non_fatal_words(prose: str) -> Iterator[str]:
    """Lines of a step that make a failure in them non-fatal."""
    for line in prose.splitlines():
        if (text := line.strip()) and is_non_fatal(prose, text):
            yield text
