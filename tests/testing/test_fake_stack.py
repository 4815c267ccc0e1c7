# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import AppSetupFailed, AppStartFailed
from vibench_gym.sandbox.exec_result import ExecResult
from vibench_gym.stack.base import Seed
from vibench_gym.testing.contract_app import (
    EXTRA_PORT,
    EXTRA_PORT_VARIABLE,
    SETUP_WORDS,
    START_WORDS,
)
from vibench_gym.testing.contracts.stack import StackContract, connect_command
from vibench_gym.testing.fakes.stack import (
    OK,
    RUNNING,
    FakePreparedApp,
    FakeStack,
    FakeStackBuilder,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vibench_gym.stack.base import PreparedApp, StackBuilder


class ContractStack(FakeStack):
    """The contract's app, scripted: it listens where the contract has it listen."""

    async def exec(
        self, command: str, *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        connects = {connect_command(port): OK for port in self.status.listening_ports}
        self.commands = {"sleep 600 & exit 0": OK, **connects}
        return await super().exec(command, timeout_s=timeout_s, env=env)

    async def restart_app(self, env: Mapping[str, str] | None = None) -> None:
        await super().restart_app(env)
        if EXTRA_PORT_VARIABLE in self.env:
            self.status = replace(RUNNING, listening_ports=(8000, EXTRA_PORT))


class TestFakeStackKeepsTheContract(StackContract):
    starts_browser = False

    @pytest.fixture
    def builder(self, request: pytest.FixtureRequest) -> StackBuilder:
        if "failing_set_up" in request.node.name:
            return FakeStackBuilder(prepare_errors=[AppSetupFailed(SETUP_WORDS)])
        if "failing_start" in request.node.name:
            return FakeStackBuilder([FakeStack(enter_error=AppStartFailed(START_WORDS))])
        return FakeStackBuilder([ContractStack(), ContractStack()])

    @pytest.fixture
    async def prepared(self, builder: StackBuilder) -> PreparedApp:
        return await builder.prepare(Path("/nowhere"))


async def test_errors_come_in_the_order_given() -> None:
    builder = FakeStackBuilder(prepare_errors=[AppSetupFailed("once")])
    with pytest.raises(AppSetupFailed, match="once"):
        await builder.prepare(Path("/a"))
    await builder.prepare(Path("/b"))
    assert builder.app_dirs == [Path("/a"), Path("/b")]


async def test_queued_stacks_come_first() -> None:
    builder = FakeStackBuilder([FakeStack(enter_error=AppStartFailed("no document"))])
    prepared = await builder.prepare(Path("/a"))
    with pytest.raises(AppStartFailed):
        async with prepared.stack():
            pass
    async with prepared.stack() as stack:
        assert stack.entered
    assert [s.calls for s in prepared.stacks] == [["enter"], ["enter", "exit"]]


async def test_failed_restart_leaves_a_dead_app() -> None:
    async with FakeStack(restart_error=AppStartFailed("gone")) as stack:
        with pytest.raises(AppStartFailed):
            await stack.restart_app()
        assert not (await stack.app_status()).running


async def test_commands_can_be_scripted() -> None:
    answer = ExecResult(stdout="x", stderr="", return_code=9)
    async with FakeStack(commands={"cat f": answer}) as stack:
        assert await stack.exec("cat f", timeout_s=1) is answer
        assert (await stack.exec("unheard of", timeout_s=1)).return_code == 127
        assert (await stack.exec("sleep 1", timeout_s=2)).return_code == 0
    async with FakeStack(on_exec=lambda _: answer) as stack:
        assert await stack.exec("anything", timeout_s=1) is answer


async def test_failed_seed_does_not_restart() -> None:
    failed = ExecResult(stdout="", stderr="boom", return_code=1)
    async with FakeStack(seed_result=failed) as stack:
        assert await stack.apply_seed(Seed()) is failed
        assert "restart_app" not in stack.calls


async def test_seed_env_reaches_the_app() -> None:
    async with FakePreparedApp().stack(seed=Seed(env={"A": "1"})) as stack:
        assert stack.env == {"A": "1"}
