# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Our own parts fail, one at a time, over fakes; `test_real_faults.py` breaks the real ones."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from support.faults.fault_lab import FaultLab, fault_lab, turn
from vibench_gym.core import durable, record_files
from vibench_gym.core.artifact import tree_sha256
from vibench_gym.core.errors import (
    BrowserFailed,
    DatabaseUnavailable,
    PrerequisiteMissing,
    RegistryUnavailable,
    SandboxUnavailable,
)
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading import artifact, recording_browser
from vibench_gym.sandbox.archive.unpack import unpack
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
from vibench_gym.testing.fakes.browser import FakeBrowser
from vibench_gym.testing.fakes.stack import OK, FakeStack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.faults.endings import Point, Tell
    from vibench_gym.browser.base import Observation
    from vibench_gym.sandbox.exec_result import ExecResult
    from vibench_gym.stack.base import AppStatus, Seed

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
type Break = Callable[[FaultLab, pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Case:
    point: Point
    name: str
    kind: str
    breaks: Break
    operator: bool = False
    heals: bool = True
    """Whether it can be there for a moment only."""

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def fault(
    point: Point, kind: str, *, operator: bool = False, heals: bool = True
) -> Callable[[Break], Break]:
    def add(breaks: Break) -> Break:
        name = breaks.__name__.replace("_", " ")
        CASES.append(Case(point, name, kind, breaks, operator, heals))
        return breaks

    return add


def failing(lab: FaultLab, real: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    """A function that fails as often as the lab says, then works."""
    left = lab.times

    def call(*args: Any, **more: Any) -> Any:
        nonlocal left
        if left > 0:
            left -= 1
            raise error
        return real(*args, **more)

    return call


# --- the artifact on its way in


@fault("archive", "sandbox_unavailable")
def no_room_to_unpack(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    error = SandboxUnavailable("the app's files cannot be stored: no space left on device")
    patch.setattr(artifact, "unpack", failing(lab, unpack, error))


@fault("archive", "grader_fault")
def no_folder_for_temporary_files(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    work_folder = failing(lab, WorkFolder, gone)
    patch.setattr(artifact, "WorkFolder", work_folder)


@fault("archive", "sandbox_unavailable")
def the_unpacked_app_cannot_be_read(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(artifact, "tree_sha256", failing(lab, tree_sha256, OSError(5, "I/O")))


@fault("memory", "grader_fault")
def out_of_memory_while_unpacking(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(artifact, "unpack", failing(lab, unpack, MemoryError()))


# --- set-up


def prepare_fails(lab: FaultLab, error: Exception) -> None:
    lab.stacks.prepare_errors.extend(error for _ in range(lab.times))  # type: ignore[misc]


@fault("sandbox", "sandbox_unavailable")
def no_namespaces_for_set_up(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, SandboxUnavailable("no space left on device"))


@fault("database", "database_unavailable")
def no_database_for_set_up(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, DatabaseUnavailable("could not create shared memory segment"))


@fault("registry", "registry_unavailable")
def registry_down(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, RegistryUnavailable("registry.example: cannot be reached"))


@fault("memory", "grader_fault")
def out_of_memory_in_set_up(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, MemoryError())


@fault("set-up", "grader_fault")
def a_defect_of_ours_in_set_up(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, KeyError("state"))


@fault("set-up", "grader_fault")
def port_of_the_mirror_taken(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, OSError(errno.EADDRINUSE, "address already in use"))


@fault("set-up", "PrerequisiteMissing", operator=True, heals=False)
def nothing_to_stand_an_app_up_with(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    prepare_fails(lab, PrerequisiteMissing("no PostgreSQL", "make setup"))


# --- stacks


def stacks_fail(lab: FaultLab, make: Callable[[], FakeStack]) -> None:
    lab.stacks.queued.extend(make() for _ in range(lab.times))


@fault("sandbox", "sandbox_unavailable")
def no_namespaces_for_a_plan(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    stacks_fail(lab, lambda: FakeStack(enter_error=SandboxUnavailable("too many open files")))


@fault("database", "database_unavailable")
def no_database_for_a_plan(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    stacks_fail(lab, lambda: FakeStack(enter_error=DatabaseUnavailable("does not start")))


class Losing(FakeStack):
    """A stack whose zone breaks when it is next looked at, after it came up."""

    async def app_status(self) -> AppStatus:
        raise SandboxUnavailable("the zone daemon is gone")

    async def healthy(self) -> bool:
        raise SandboxUnavailable("the zone daemon is gone")


class Stuck(FakeStack):
    """A stack whose end fails."""

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__(None, None, None)
        raise SandboxUnavailable("box-1 does not die")


@fault("sandbox", "sandbox_unavailable")
def zone_agent_dies_with_the_browser(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    stacks_fail(lab, Losing)
    lab.browsers.queued.extend(lost("target closed") for _ in range(lab.times))


# --- browsers


def lost(message: str, after: int = 1) -> FakeBrowser:
    return FakeBrowser(["Result: fine"] * after + [BrowserFailed(message)])


def browsers_lost(lab: FaultLab, make: Callable[[], FakeBrowser | Exception]) -> None:
    """For good: the control's browsers as well; once: the first only."""
    count = 2 * lab.times if lab.for_good else 1
    lab.browsers.queued.extend(make() for _ in range(count))


@fault("browser", "browser_failed")
def chromium_does_not_start(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.browsers.queued.extend(BrowserFailed("does not start") for _ in range(lab.times))


@fault("browser", "browser_failed")
def chromium_crashes(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    browsers_lost(lab, lambda: lost("Chromium is gone", after=0))


@fault("browser", "browser_failed")
def driver_dies(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    browsers_lost(lab, lambda: lost("the driver is gone: Connection closed", after=0))


class Hung(FakeBrowser):
    """A browser that never answers."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        del name, arguments
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


@fault("browser", "browser_failed")
def chromium_hangs(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recording_browser, "CALL_LIMIT_S", 0.1)
    lab.browsers.queued.append(Hung())
    if lab.for_good:
        lab.browsers.queued.extend((lost("hangs", 0), Hung(), lost("hangs", 0)))


@fault("browser", "grader_fault")
def a_defect_in_a_tool(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    broken = TypeError("NoneType has no attribute")
    lab.browsers.queued.extend(FakeBrowser([broken]) for _ in range(lab.times))


@fault("browser", "grader_fault")
def no_room_for_a_screenshot(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.browsers.queued.extend(FakeBrowser([FULL]) for _ in range(lab.times))


@fault("browser", "PrerequisiteMissing", operator=True, heals=False)
def no_chromium_on_this_host(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.browsers.queued.append(PrerequisiteMissing("no Chromium", "apt-get install chromium"))


@fault("memory", "grader_fault")
def out_of_memory_while_testing(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.browsers.queued.extend(FakeBrowser([MemoryError()]) for _ in range(lab.times))


# --- seeding


class Unreadable(FakeStack):
    """A stack whose seed folder cannot be read, by no doing of the app's."""

    async def read_seed_folder(self) -> Seed:
        raise SandboxUnavailable("the zone daemon does not answer 'get'")


class NoShell(FakeStack):
    """A stack in which no box can be made any more."""

    async def exec(self, *_: Any, **__: Any) -> ExecResult:
        raise SandboxUnavailable("no process can be started")


@fault("seeding", "sandbox_unavailable")
def the_seed_cannot_be_read(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.seeded()
    lab.stacks.queued.append(Unreadable())
    if lab.for_good:
        lab.stacks.queued.append(Unreadable())


@fault("seeding", "sandbox_unavailable")
def no_shell_for_the_seeder(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.seeded()
    lab.server.scripts["seeder"].insert(0, ("shell", {"command": "ls"}))
    stacks_fail(lab, NoShell)
    if not lab.for_good:
        lab.stacks.queued.append(FakeStack(on_exec=lambda _: OK))


@fault("seeding", "seeding_failed")
def the_seeder_gives_up(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.seeded()
    lab.strike(turn(("give_up", {"reason": "I cannot"})), only="seeder")


@fault("seeding", "sandbox_unavailable")
def no_stack_for_the_delivery(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    lab.seeded()
    for _ in range(lab.times):
        gone = FakeStack(enter_error=SandboxUnavailable("no memory"))
        lab.stacks.queued.extend((FakeStack(), gone))


# --- the clock


@fault("clock", "clock_jumped")
def clock_jumps_a_day_ahead(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    jumps(lab, 86_400.0)


@fault("clock", "clock_jumped")
def clock_jumps_back(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    jumps(lab, -3600.0)


def jumps(lab: FaultLab, by_s: float) -> None:
    """Set the clock at the first observation of an attempt."""
    real, moved = lab.now, [0.0]
    lab.now = lambda: real() + moved[0]

    def set_clock(name: str, arguments: Mapping[str, Any]) -> str:
        del name, arguments
        moved[0] += by_s
        return "Result: done"

    lab.browsers.queued.extend(FakeBrowser([set_clock]) for _ in range(lab.times))


# --- results


def unwritable(lab: FaultLab, patch: pytest.MonkeyPatch, name: str) -> None:
    """No file of this name can be written any more."""
    del lab
    real = durable.write_atomic

    def write(path: Path, data: str | bytes) -> None:
        if path.name == name:
            raise FULL
        real(path, data)

    patch.setattr(record_files, "write_atomic", write)


def store_fault(name: str, file: str) -> None:
    def breaks(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
        unwritable(lab, patch, file)

    CASES.append(Case("store", name, "ResultsUnwritable", breaks, operator=True, heals=False))


store_fault("no room for the record of a plan", "plan.json")
store_fault("no room for a scorecard", "scorecard.json")
store_fault("no room for the record of a rollout", "rollout.json")
store_fault("no room for the plan's text", "plan.txt")


@fault("store", "ResultsUnwritable", operator=True, heals=False)
def events_cannot_be_written(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del lab
    real = os.open

    def opened(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if str(path).endswith("events.jsonl"):
            raise FULL
        return real(path, flags, *args, **more)

    patch.setattr(os, "open", opened)


@fault("store", "ResultsUnwritable", operator=True, heals=False)
def run_folder_gone_read_only(lab: FaultLab, patch: pytest.MonkeyPatch) -> None:
    del patch
    (lab.root / "run").write_text("a file where the run's folder should be")


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_for_good_it_is_no_score(
    tmp_path: Path, case: Case, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fault_lab(tmp_path, for_good=True) as lab:
        case.breaks(lab, monkeypatch)
        end = await lab.end()
    tell(case.name, case.point, "for good", end)
    verdict = "operator" if case.operator else "masked"
    assert (end.verdict, end.kind) == (verdict, case.kind), end
    assert end.why


@pytest.mark.parametrize("case", [case for case in CASES if case.heals], ids=str)
async def test_for_a_moment_it_costs_nothing(
    tmp_path: Path, case: Case, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fault_lab(tmp_path, for_good=False) as lab:
        case.breaks(lab, monkeypatch)
        end = await lab.end()
    tell(case.name, case.point, "once", end)
    assert (end.verdict, end.reward) == ("scored", 1.0), end


@pytest.mark.parametrize("what", ["stack", "browser"])
async def test_a_teardown_that_fails_changes_no_score(
    tmp_path: Path, tell: Tell, what: str
) -> None:
    class Closing(FakeBrowser):
        async def close(self) -> None:
            raise BrowserFailed("does not end")

    async with fault_lab(tmp_path, for_good=False) as lab:
        if what == "stack":
            lab.stacks.queued.append(Stuck())
        else:
            lab.browsers.queued.append(Closing())
        end = await lab.end()
    tell(f"teardown of a {what} fails", "sandbox", "once", end)
    assert (end.verdict, end.reward, end.status) == ("scored", 1.0, PlanStatus.GRADED)
