# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Real parts are broken from outside while a real app is graded: processes, folders, registries."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.attacks.hostile_variants import FAST, NO_BROWSER, SMALL, CurlLauncher, ScriptedModels
from support.counter_app import make_counter_task, write_app
from support.faults.endings import Ending
from vibench_gym.browser import session
from vibench_gym.core.config import StackConfig
from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.core.rundir import RunDir
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.sandbox.zone.zone import Zone
from vibench_gym.stack.local import set_up
from vibench_gym.stack.local.builder import LocalStackBuilder
from vibench_gym.stack.packages.http_wire import read_request, send_response
from vibench_gym.stack.packages.registries import Registries
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from support.faults.endings import How, Point, Tell
    from vibench_gym.browser.base import Browser, BrowserLaunch, Observation
    from vibench_gym.stack.base import Stack
    from vibench_gym.stack.local.host import Host
    from vibench_gym.stack.local.stack import LocalStack

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.timeout(400)]
SETUP = "setup-environment.sh"
type Strike = Callable[[Browser, LocalStack], None]


@pytest.fixture(scope="session")
def host() -> Host:
    return asyncio.run(LocalStackBuilder(StackConfig(), browser=NO_BROWSER).find_host())


@dataclass
class RealBench:
    """Grades the counter; `strike` is called before the second action in a browser."""

    root: Path
    host: Host
    strike: Strike | None = None
    times: int = 0
    chromium: bool = False
    config: StackConfig = SMALL
    changes: Mapping[str, str] = field(default_factory=dict)

    async def end(self) -> Ending:
        """Grade, and say what it came to."""
        task = make_counter_task(self.root / "task")
        script = self.root / "task/counter/replay/mvp/test1.qa.yaml"
        script.write_text(script.read_text().replace("<'", "'"))
        curl = CurlLauncher(LocalStackBuilder(self.config, host=self.host))
        striking = Striking(self, curl, PlaywrightLauncher() if self.chromium else curl)
        grader = Grader(stacks=curl, models=ScriptedModels(task), browsers=striking, config=FAST)
        rollout = RunDir(self.root / "run").rollout(task, "app")
        app = write_app(self.root / "app", self.changes)
        record = await grader.grade(task, app, rollout=rollout, label="app")
        plan = rollout.plan(task.plans[0].id).read_record()
        assert plan is not None
        return Ending(
            "masked" if record.mask_sample else "scored",
            str(plan.status),
            record.failure_kind or "",
            record.reward,
            plan.attempts,
            record.failure_reason or plan.error or "",
        )


class Striking:
    """A BrowserLauncher whose browsers are struck as often as the bench says."""

    def __init__(
        self, bench: RealBench, curl: CurlLauncher, inner: PlaywrightLauncher | CurlLauncher
    ) -> None:
        self._bench = bench
        self._curl = curl
        self._inner = inner

    async def launch(self, options: BrowserLaunch) -> Browser:
        browser = await self._inner.launch(options)
        stack = next(s for s in self._curl.stacks if _is(s, options.executable))
        return StruckBrowser(browser, self._bench, stack)


def _is(stack: Stack, executable: Path) -> bool:
    with contextlib.suppress(SandboxUnavailable):
        return stack.browser_executable == executable
    return False


class StruckBrowser:
    """A browser that is struck when it is used."""

    def __init__(self, inner: Browser, bench: RealBench, stack: Any) -> None:
        self._inner = inner
        self._bench = bench
        self._stack = stack
        self.tools = inner.tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        self._struck()
        return await self._inner.call(name, arguments)

    async def observe(self) -> Observation:
        self._struck()
        return await self._inner.observe()

    async def close(self) -> None:
        await self._inner.close()

    def _struck(self) -> None:
        if self._bench.times > 0 and self._bench.strike is not None:
            self._bench.times -= 1
            self._bench.strike(self._inner, self._stack)


# --- whom to strike


def below(pid: int) -> Iterator[tuple[int, str]]:
    """Processes that descend from one, with their command lines."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    for one in parents:
        up = one
        while up in parents and up != pid:
            up = parents[up]
        if up == pid and one != pid:
            with contextlib.suppress(OSError):
                yield one, Path(f"/proc/{one}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def agent_of(stack: LocalStack) -> int:
    """The zone's agent."""
    process = stack._zone._client._process
    assert process is not None
    return process.pid


def struck(number: signal.Signals, wanted: Callable[[str], bool]) -> Strike:
    """Send a signal to the zone's processes whose command lines are wanted."""

    def strike(_browser: Browser, stack: LocalStack) -> None:
        found = [pid for pid, command in below(agent_of(stack)) if wanted(command)]
        assert found, "nothing to strike"
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    return strike


def is_chromium(command: str) -> bool:
    return "--remote-debugging-pipe" in command and "--type=" not in command.replace("bwrap", "")


def is_postgres(command: str) -> bool:
    return "postgres -D /data" in command and "bwrap" not in command


def kill_agent(_browser: Browser, stack: LocalStack) -> None:
    os.kill(agent_of(stack), signal.SIGKILL)


def kill_driver(_browser: Browser, _stack: LocalStack) -> None:
    """Playwright's driver is a process of ours, apart from any zone."""
    drivers = [pid for pid, command in below(os.getpid()) if "run-driver" in command]
    assert drivers, "nothing to strike"
    for pid in drivers:
        os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True)
class Case:
    name: str
    point: Point
    strike: Strike
    kind: str
    chromium: bool = False

    def __str__(self) -> str:
        return self.name


KILL, STOP = signal.SIGKILL, signal.SIGSTOP
CASES = (
    Case("zone daemon is killed", "sandbox", kill_agent, "sandbox_unavailable"),
    Case("Chromium is killed", "browser", struck(KILL, is_chromium), "browser_failed", True),
    Case("Chromium is stopped", "browser", struck(STOP, is_chromium), "browser_failed", True),
    Case("driver is killed", "browser", kill_driver, "browser_failed", True),
)
PASSING = (
    *CASES,
    Case("database is killed for want of memory", "memory", struck(KILL, is_postgres), ""),
)
needs_browser = pytest.mark.browser


def params(cases: tuple[Case, ...]) -> list[Any]:
    return [pytest.param(case, marks=marks_of(case), id=case.name) for case in cases]


def marks_of(case: Case) -> tuple[Any, ...]:
    """What is stopped answers nothing, so that every call of it waits for its limit."""
    waits = (pytest.mark.long,) if "stopped" in case.name else ()
    return (*((needs_browser,) if case.chromium else ()), *waits)


async def bench_for(root: Path, host: Host, case: Case, times: int) -> RealBench:
    if case.chromium:
        found = await LocalStackBuilder(StackConfig()).find_host()
        host = replace(host, chromium=found.chromium)
    return RealBench(root, host, case.strike, times, case.chromium)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "HEARTBEAT_S", 2.0)
    monkeypatch.setattr(session, "CLOSE_TIMEOUT_S", 3.0)
    monkeypatch.setattr("vibench_gym.browser.page.observer._LOOK_TIMEOUT_S", 3.0)


@pytest.mark.parametrize("case", params(CASES))
async def test_for_good_it_masks(tmp_path: Path, host: Host, tell: Tell, case: Case) -> None:
    end = await (await bench_for(tmp_path, host, case, 99)).end()
    tell(case.name, case.point, "for good", end)
    assert (end.verdict, end.kind) == ("masked", case.kind), end


@pytest.mark.long
@pytest.mark.parametrize("case", params(PASSING))
async def test_once_it_costs_nothing(tmp_path: Path, host: Host, tell: Tell, case: Case) -> None:
    end = await (await bench_for(tmp_path, host, case, 1)).end()
    tell(case.name, case.point, "once", end)
    assert (end.verdict, end.reward, end.attempts) == ("scored", 1.0, 2), end


# --- what set-up needs


async def test_a_broken_template_is_ours(tmp_path: Path, host: Host, tell: Tell) -> None:
    shutil.copytree(host.template, tmp_path / "template", symlinks=True)
    (tmp_path / "template/database/PG_VERSION").write_text("9\n")
    end = await RealBench(tmp_path, replace(host, template=tmp_path / "template")).end()
    tell("PostgreSQL refuses its template", "database", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "database_unavailable"), end


async def test_without_bubblewrap_nothing_is_scored(
    tmp_path: Path, host: Host, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vibench_gym.sandbox.zone.zone.find_bwrap", lambda: None)
    end = await RealBench(tmp_path, host).end()
    tell("bubblewrap is gone", "sandbox", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "sandbox_unavailable"), end


@pytest.mark.parametrize("how", ["for good", "once"])
async def test_a_full_disk_under_the_snapshot_is_ours(
    tmp_path: Path, host: Host, tell: Tell, how: How, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 99 if how == "for good" else 1
    real = Zone.export_state

    async def export(zone: Zone, destination: Path, **more: Any) -> None:
        if left:
            raise SandboxUnavailable("cp ended with 1")
        await real(zone, destination, **more)

    def room(_folder: Path, _size: int) -> None:
        nonlocal left
        left -= 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Zone, "export_state", export)
    monkeypatch.setattr(set_up, "_take_room", room)
    end = await RealBench(tmp_path, host).end()
    tell("no room for the snapshot", "set-up", how, end)
    expected = ("masked", "sandbox_unavailable") if how == "for good" else ("scored", "")
    assert (end.verdict, end.kind) == expected, end


async def test_a_taken_port_of_the_mirror_is_ours(
    tmp_path: Path, host: Host, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listen(_zone: Zone, _port: int) -> None:
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))

    monkeypatch.setattr(Zone, "listen", listen)
    config = SMALL.model_copy(update={"egress": "registries"})
    end = await RealBench(tmp_path, host, config=config).end()
    tell("the mirror's port is taken", "set-up", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "sandbox_unavailable"), end


@dataclass
class Registry:
    """A package registry on loopback, in a mood."""

    status: Callable[[str], int]
    asked: list[str] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Registries]:
        async with serving(self._answer) as server:
            name = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield registries(name)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.asked.append(request.target)
            await send_response(writer, request, self.status(request.target), b"<html></html>")


def registries(name: str) -> Registries:
    """The registries of one host."""
    return Registries((f"http://{name}/simple/",), f"http://{name}/npm/", frozenset({name}))


INSTALLS = 'curl -sf "${PIP_INDEX_URL}shop/" > index.html'


def registry_bench(root: Path, host: Host, found: Registries, script: str) -> RealBench:
    """An app that asks the registry for a package in its set-up."""
    config = SMALL.model_copy(update={"egress": "registries"})
    mirrored = replace(host, registries=found, cache=root / "cache")
    return RealBench(root, mirrored, config=config, changes={SETUP: f"{script}\n"})


@pytest.mark.parametrize("script", [f"{INSTALLS} || exit 1", f"{INSTALLS}; exit 0"])
async def test_a_registry_that_is_down_is_ours(
    tmp_path: Path, host: Host, tell: Tell, script: str
) -> None:
    end = await registry_bench(tmp_path, host, registries("127.0.0.1:9"), script).end()
    how = "set-up fails" if "||" in script else "set-up goes on"
    tell(f"registry is down, {how}", "registry", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "registry_unavailable"), end


async def test_a_registry_that_is_overloaded_is_ours(
    tmp_path: Path, host: Host, tell: Tell
) -> None:
    async with Registry(lambda _: 503).serving() as found:
        end = await registry_bench(tmp_path, host, found, f"{INSTALLS} || exit 1").end()
    tell("registry answers 503", "registry", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "registry_unavailable"), end


async def test_a_registry_that_was_away_for_a_moment_costs_nothing(
    tmp_path: Path, host: Host, tell: Tell
) -> None:
    registry = Registry(lambda _: 503 if len(registry.asked) < 2 else 200)
    async with registry.serving() as found:
        end = await registry_bench(tmp_path, host, found, f"{INSTALLS} || exit 1").end()
    tell("registry answers 503", "registry", "once", end)
    assert (end.verdict, end.reward) == ("scored", 1.0), end


async def test_an_app_that_makes_a_registry_stumble_is_scored(
    tmp_path: Path, host: Host, tell: Tell
) -> None:
    async with Registry(lambda path: 500 if "shop" in path else 200).serving() as found:
        end = await registry_bench(tmp_path, host, found, f"{INSTALLS} || exit 1").end()
    tell("asks a registry for what makes it stumble", "registry", "sabotage", end)
    assert (end.verdict, end.status, end.reward) == ("scored", "setup_failed", 0.0), end


async def test_an_app_that_wants_what_no_registry_has_is_scored(
    tmp_path: Path, host: Host, tell: Tell
) -> None:
    async with Registry(lambda _: 404).serving() as found:
        end = await registry_bench(tmp_path, host, found, f"{INSTALLS} || exit 1").end()
    tell("wants a package that there is not", "registry", "sabotage", end)
    assert (end.verdict, end.status, end.reward) == ("scored", "setup_failed", 0.0), end
