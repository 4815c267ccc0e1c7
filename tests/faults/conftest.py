# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Collects what every fault and every sabotage came to, for the table of `make faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.faults.endings import PROPERTY, Ending, How, Point, Row, Tell, summary, table

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Iterator[Tell]:
    told: list[str] = []

    def note(name: str, point: Point, how: How, ending: Ending) -> None:
        told.append(name)
        row = Row(name.replace("_", " "), point, how, ending)
        request.node.user_properties.append((PROPERTY, row.cells()))

    yield note
    assert told, "a case of this suite has to say what it came to"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for found in terminalreporter.stats.values()
        for report in found
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    properties = [item for report in reports for item in report.user_properties]
    rows = [row for name, row in properties if name == PROPERTY and isinstance(row, dict)]
    if not rows:
        return
    terminalreporter.section("faults")
    for line in (*table(rows), "", *summary(rows)):
        terminalreporter.write_line(line)
