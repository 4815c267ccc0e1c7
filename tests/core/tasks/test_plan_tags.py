# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How a scan of a plan's tags reports what it finds."""

from __future__ import annotations

from vibench_gym.core.errors import Problem
from vibench_gym.core.tasks.plan_tags import scan_tags


def test_a_problem_is_an_error_unless_it_says_otherwise() -> None:
    scan = scan_tags("", "t")
    scan.report_line(3, "bad")
    assert scan.problems == [Problem("t", 3, "bad", "error")]
