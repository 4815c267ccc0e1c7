# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers for people: where the time went, how plans ended. None of them enters the reward."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.core.status import StepOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vibench_gym.core.records import PhaseTiming, Scorecard, UsageRecord


@dataclass(frozen=True, slots=True)
class Share:
    """One phase's part of a whole: seconds, and percent of the sum (0 to 100)."""

    phase: str
    seconds: float
    percent: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over any number of plans; a plan is perfect when every point was scored."""

    perfect: int
    steps_passed: int
    steps: int


def shares(timings: Iterable[PhaseTiming]) -> list[Share]:
    """Sum timings by phase, longest first; phases that took nothing are left out."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for timing in timings:
        seconds[timing.phase] += timing.seconds
    whole = sum(seconds.values())
    longest_first = sorted(seconds.items(), key=lambda item: -item[1])
    return [Share(phase, spent, 100.0 * spent / whole) for phase, spent in longest_first if spent]


def totals(cards: Sequence[Scorecard]) -> Totals:
    """Count perfect plans, and steps."""
    return Totals(
        perfect=sum(card.score == card.full_points for card in cards),
        steps_passed=sum(
            step.outcome is StepOutcome.PASSED for card in cards for step in card.steps
        ),
        steps=sum(len(card.steps) for card in cards),
    )


def usage_total(usage: Iterable[UsageRecord]) -> dict[str, int | float]:
    """Tokens, requests and model seconds over all roles."""
    rows = list(usage)
    return {
        "input_tokens": sum(row.input_tokens for row in rows),
        "output_tokens": sum(row.output_tokens for row in rows),
        "cached_tokens": sum(row.cached_tokens for row in rows),
        "requests": sum(row.requests for row in rows),
        "seconds": sum(row.seconds for row in rows),
    }
