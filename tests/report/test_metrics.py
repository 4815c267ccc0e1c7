# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in the report."""

from __future__ import annotations

from vibench_gym.core.records import PhaseTiming, UsageRecord
from vibench_gym.report.metrics import shares, usage_total


def test_shares_sum_phases_longest_first() -> None:
    timings = [
        PhaseTiming(phase="a", seconds=1.0),
        PhaseTiming(phase="b", seconds=6.0),
        PhaseTiming(phase="a", seconds=1.0),
        PhaseTiming(phase="c", seconds=0.0),
    ]
    assert [(s.phase, s.seconds, s.percent) for s in shares(timings)] == [
        ("b", 6.0, 75.0),
        ("a", 2.0, 25.0),
    ]
    assert shares([]) == []


def test_usage_adds_up() -> None:
    row = UsageRecord(
        role="qa",
        model="m",
        input_tokens=3,
        output_tokens=2,
        cached_tokens=1,
        requests=1,
        seconds=0.5,
    )
    assert usage_total([row, row]) == {
        "input_tokens": 6,
        "output_tokens": 4,
        "cached_tokens": 2,
        "requests": 2,
        "seconds": 1.0,
    }
