# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The suite has teeth: without any one defence, some case fails, and by its own assertion.

All of it is `make teeth` (`--teeth`); otherwise a few defences, one of each kind, are taken away.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.defences import ALL, command_environment, without, zygote

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
SOME = (
    *("answer_wins", "answers_kept", "archive_link_targets", "brief_only", "own_ipc"),
    *("report_escapes", "state_limit", "store_by_digest"),
)
ASSERTED = ("AssertionError", "assert ", "Failed: ")
TIMEOUT_S = 400
FIRST = ("archives", "verify", "judge", "host", "rollouts")
"""Files whose cases are cheap, before all others."""


def files_that_name(name: str) -> list[Path]:
    """The files with a case that names the defence, cheapest first."""
    files = [path for path in HERE.glob("test_*.py") if path.name != Path(__file__).name]
    order = {f"test_{stem}.py": place for place, stem in enumerate(FIRST)}
    return sorted(
        (path for path in files if f'"{name}"' in path.read_text(encoding="utf-8")),
        key=lambda path: (order.get(path.name, len(FIRST)), path.name),
    )


class Zygote:
    """Starts test runs that need not import the slow parts again."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, name: str, source: Path, arguments: list[str], log: Path) -> None:
        """One run without a defence, to its end."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, zygote.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=REPO,
                start_new_session=True,
            )
        order = {
            "source": str(source),
            "environment": command_environment(name, source),
            "arguments": arguments,
            "log": str(log),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], TIMEOUT_S)
        if not ready:
            self.close()
            pytest.fail(f"without {name} the run does not end")
        self._process.stdout.readline()

    def close(self) -> None:
        """End it; a run that is under way ends with its session."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture(scope="session")
def runs() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "taken_away" in metafunc.fixturenames:
        # The option is known only where this folder was named on the command line.
        everything = metafunc.config.getoption("--teeth", default=False)
        metafunc.parametrize("taken_away", list(ALL) if everything else SOME)


@pytest.mark.parametrize("name", ALL)
def test_a_defence_can_be_taken_away_and_some_case_names_it(name: str, tmp_path: Path) -> None:
    assert (without(name, tmp_path) / "vibench_gym").is_dir()
    assert files_that_name(name), f"no case names {name}"


def failures_in(report: Path) -> list[tuple[str, str]]:
    """Case and first words of each failure that a run reports."""
    return [
        (str(case.get("name")), failure.get("message", ""))
        for case in ET.parse(report).iter("testcase")  # noqa: S314 (by our own run)
        for failure in case.iter("failure")
    ]


@pytest.mark.sandbox
@pytest.mark.gym
@pytest.mark.timeout(TIMEOUT_S + 60)
def test_without_a_defence_some_case_fails(
    taken_away: str, tmp_path: Path, runs: Zygote, request: pytest.FixtureRequest
) -> None:
    name = taken_away
    source = without(name, tmp_path)
    report, log = tmp_path / "report.xml", tmp_path / "log"
    options = ["-q", "-x", "-p", "no:cacheprovider", "--no-cov", f"--junitxml={report}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "--without", name]
    failures: list[tuple[str, str]] = []
    for path in files_that_name(name):
        report.unlink(missing_ok=True)
        runs.run(name, source, [*options, str(path)], log)
        assert report.is_file(), log.read_text(errors="replace")
        if failures := failures_in(report):
            break
    for case, message in failures:
        row = f"{name}  {case}  {message.splitlines()[0][:120]}"
        request.node.user_properties.append(("teeth", row))

    assert failures, f"no case fails without {name}:\n{log.read_text(errors='replace')[-4000:]}"
    said = log.read_text(errors="replace")[-6000:]
    assert all(message.startswith(ASSERTED) for _, message in failures), said
