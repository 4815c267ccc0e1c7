# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Prerequisites by marker: what is missing skips locally, with the reason, and fails in CI.

sandbox    bubblewrap and user namespaces      browser    Chromium
postgres   PostgreSQL binaries that start      docker     a Docker engine
gym        nemo-gym                            live       a real model (--run-live)
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# No test measures time: the machine may be busy with others.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

REPO = Path(__file__).resolve().parent.parent
LONG = ("test_e2e", "test_compose_stack", "test_compose_grading", "test_kills", "test_reference")
"""Files of tests that take the longest."""
SERVERS = ("test_e2e_readme.py", "test_e2e_resume.py", "test_e2e_servers.py", "test_e2e_wheel.py")
"""Files of tests that start NeMo Gym's servers again and again."""
ALLOWED_SKIPS = REPO / ".ci" / "allowed-skips"


class FailuresAtOnce:
    """Names a failed test, and why, when it failed: a summary may be 40 minutes away."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            lines = report.longreprtext.splitlines()
            said = [line[1:].strip() for line in lines if line.startswith("E ")] or [*lines, ""][
                -1:
            ]
            terminal.write_line(f" {report.when}: {report.nodeid}: {said[0][:300]}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """What tests, and the programs they start, make in the temporary folder goes with the run.

    Even if it is killed: the folder is on the janitor's list. pytest's own `tmp_path`s stay, as
    ever, for the last runs.
    """
    if hasattr(config, "workerinput"):
        return  # a worker of xdist has its controller's folder and tells its controller
    config.pluginmanager.register(FailuresAtOnce(config))
    from vibench_gym.sandbox.cleanup.work_folder import WorkFolder  # noqa: PLC0415 (coverage is on by now)

    before = tempfile.gettempdir()
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", before)
    folder = WorkFolder("t")  # a short name: sockets are made below it
    folder.path.chmod(0o1777)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder.path)

    def put_back() -> None:
        os.environ["TMPDIR"] = tempfile.tempdir = before
        folder.remove()

    config.add_cleanup(put_back)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-live", action="store_true", help="run tests that call a real model")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest starts first."""
    items.sort(key=lambda item: not item.path.name.startswith(LONG))


class InRows(LoadScopeScheduling):
    """Which tests one worker runs in a row (`--dist loadscope`).

    Servers would starve each other's start; a file of browser tests shares one browser, and those
    of the compose stack share an app that stands.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = Path(nodeid.partition("::")[0])
        if path.name in SERVERS:
            return "servers"
        if path.parts[1] == "docker" and path.name.startswith("test_compose_"):
            return "compose"
        return str(path) if path.parts[1] == "browser" or path.name == "test_pages.py" else nodeid


@pytest.hookimpl(optionalhook=True)  # mutation testing runs without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> InRows | None:
    return InRows(config, log) if config.getoption("dist") == "loadscope" else None


@functools.cache
def _missing(marker: str) -> str | None:
    """What a marker's tests lack on this machine, or None."""
    if marker == "sandbox":
        from vibench_gym.sandbox import prerequisites  # noqa: PLC0415 (only where needed)

        failed = [check for check in prerequisites.sandbox_checks() if not check.ok]
        return f"{failed[0].detail}; {failed[0].fix}" if failed else None
    if marker == "postgres":
        from vibench_gym.core.errors import PrerequisiteMissing  # noqa: PLC0415
        from vibench_gym.stack.cache import cache_root  # noqa: PLC0415
        from vibench_gym.stack.toolchain.postgres import find_postgres  # noqa: PLC0415

        try:
            find_postgres(None, cache_root())
        except PrerequisiteMissing as missing:
            return str(missing)
        return None
    if marker == "browser":
        found = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
        return None if found else "no Chromium; run make setup"
    if marker == "gym":
        found = importlib.util.find_spec("nemo_gym") is not None
        return None if found else "nemo-gym is not installed; run make setup"
    if marker == "docker":
        docker = shutil.which("docker")
        up = docker and subprocess.run(
            [docker, "info"], capture_output=True, check=False, timeout=20
        )
        return (
            None
            if up and up.returncode == 0
            else ("no Docker engine answers; run scripts/docker_engine.py make test")
        )
    return None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without nemo-gym its tests cannot even be imported; in CI that is an error."""
    gym = REPO / "tests" / "gym"
    absent = collection_path.is_relative_to(gym) and _missing("gym")
    return True if absent and os.environ.get("CI") != "true" else None


def _require(item: pytest.Item, reason: str) -> None:
    allowed = ALLOWED_SKIPS.read_text().split() if ALLOWED_SKIPS.exists() else []
    if os.environ.get("CI") == "true" and item.nodeid not in allowed:
        pytest.fail(f"a prerequisite is missing in CI: {reason}", pytrace=False)
    pytest.skip(reason)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("live") and not item.config.getoption("--run-live"):
        pytest.skip("calls a real model; give --run-live to run it")
    for marker in ("sandbox", "postgres", "browser", "docker", "gym"):
        if item.get_closest_marker(marker):
            reason = _missing(marker)
            if reason:
                _require(item, reason)


@pytest.fixture(scope="session")
def vibench_root() -> Path:
    """The real benchmark's data, where it is at hand."""
    candidates = [os.environ.get("VIBENCH_ROOT"), str(REPO.parent / "shared" / "vibench")]
    for candidate in candidates:
        if candidate and (Path(candidate) / "prds").is_dir():
            return Path(candidate)
    pytest.skip("no ViBench data: set VIBENCH_ROOT to a checkout")
