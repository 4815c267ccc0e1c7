# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How many kills, and the table of what was killed: `pytest tests/kills --kills 200`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

USUAL = 8
PROPERTY = "kill"
GONE = "gone_s"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=USUAL, help="how many kills, in all")
    parser.addoption("--kill-seed", type=int, default=5, help="of their moments and victims")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    killed: Counter[str] = Counter()
    gone_s: list[float] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            said = getattr(report, "user_properties", ())
            for name, value in said if getattr(report, "when", "") == "call" else ():
                if name == PROPERTY:
                    killed[value] += 1
                elif name == GONE:
                    gone_s.append(value)
    if killed:
        terminalreporter.section("killed parts")
        for part, count in sorted(killed.items()):
            terminalreporter.line(f"{count:>5}  {part}")
        terminalreporter.line(f"{sum(killed.values()):>5}  in all")
        late = (
            f"nothing was left {max(gone_s):.1f} s after the end of what was killed, at the latest"
        )
        terminalreporter.line(late)
