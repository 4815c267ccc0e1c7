# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The table of cases, and runs with one defence taken away.

`--without DEFENCE` keeps only the cases that name the defence, cheapest first, and removes it for
the whole session, from the tests' side: with `-x` such a run ends at the first case that has teeth.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from support.attacks.case import ATTRIBUTE, Case, Seen, table
from support.attacks.hostile_variants import NO_BROWSER, VariantGrader
from vibench_gym.core.config import StackConfig
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord
    from vibench_gym.stack.local.host import Host

PROPERTY = "redteam"
COSTS = ("browser", "postgres", "sandbox")
"""Markers from dear to cheap."""
_removal = contextlib.ExitStack()


@pytest.fixture(scope="session")
def host() -> Host:
    """This host's toolchain and templates, looked for once; no browser will be started."""
    return asyncio.run(LocalStackBuilder(StackConfig(), browser=NO_BROWSER).find_host())


@pytest.fixture
def twins(host: Host, tmp_path: Path) -> VariantGrader:
    return VariantGrader(tmp_path, host)


@pytest.fixture(scope="session")
def honest(host: Host, tmp_path_factory: pytest.TempPathFactory) -> RolloutRecord:
    """What the honest app scores: everything."""
    graded = asyncio.run(VariantGrader(tmp_path_factory.mktemp("honest"), host).grade())
    assert graded.reward == 1.0
    assert not graded.mask_sample
    return graded


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without", metavar="DEFENCE", help="run the cases that name this defence")
    parser.addoption("--teeth", action="store_true", help="take every defence away in turn")


def pytest_configure(config: pytest.Config) -> None:
    without = config.getoption("without", None)
    if without:
        # By name: the registry patches half of the product, so only such a run pays for it.
        defences = importlib.import_module("support.defences")
        _removal.enter_context(defences.removed(without))


def pytest_unconfigure() -> None:
    _removal.close()


def case_of(item: pytest.Item) -> Case | None:
    """The case that a test is, with its name; None for a test that is none."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    found = next((value for value in params.values() if isinstance(value, Case)), None)
    if found is None:
        found = getattr(getattr(item, "function", None), ATTRIBUTE, None)
    if not isinstance(found, Case):
        return None
    return replace(found, name=found.name or item.name.removeprefix("test_"))


def cost(item: pytest.Item) -> int:
    """How dear a test is: 0 for one with nothing real beneath it."""
    return next((3 - n for n, mark in enumerate(COSTS) if item.get_closest_marker(mark)), 0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    without = config.getoption("without", None)
    if not without:
        return
    cases = [(item, case_of(item)) for item in items]
    kept = [item for item, case in cases if case is not None and without in case.defences]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted(kept, key=cost)


@pytest.fixture
def seen(request: pytest.FixtureRequest) -> Seen:
    """To be called with what the attack came to; it stands in the table."""
    made = Seen()
    request.node.redteam_seen = made
    return made


def result_of(report: pytest.TestReport) -> str:
    """A gain that is known and not yet closed is `OPEN`: neither hidden nor counted as expected."""
    if hasattr(report, "wasxfail"):
        return "as expected" if report.passed else "OPEN"
    return {"passed": "as expected", "skipped": "skipped"}.get(report.outcome, "NOT SO")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report: pytest.TestReport = outcome.get_result()
    case = case_of(item)
    if case is None or (report.when != "call" and report.passed):
        return
    told = getattr(item, "redteam_seen", None)
    row = {
        "case": case.name,
        "kind": case.kind,
        "gain": case.gain,
        "expected": case.expected,
        "seen": told.text if told is not None and told.text else "",
        "result": result_of(report),
    }
    report.user_properties.append((PROPERTY, row))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for some in terminalreporter.stats.values() for r in some]
    properties = [p for r in reports for p in getattr(r, "user_properties", ())]
    if teeth := [row for name, row in properties if name == "teeth"]:
        terminalreporter.section("teeth: without this defence, this case fails")
        for line in sorted(set(teeth)):
            terminalreporter.write_line(line)
    rows = [row for name, row in properties if name == PROPERTY]
    if not rows:
        return
    terminalreporter.section("red team")
    for line in table(rows):
        terminalreporter.write_line(line)
    good = sum(row["result"] == "as expected" for row in rows)
    still = [row["case"] for row in rows if row["result"] == "OPEN"]
    known = f"; open: {', '.join(still)}" if still else ""
    terminalreporter.write_line(f"{len(rows)} cases, {good} as expected{known}")
