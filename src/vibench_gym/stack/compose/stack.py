# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One standing stack in containers; see `vibench_gym.stack.base.Stack`.

Nothing tells what was killed from outside of a container from what an app killed, so all of that
is the app's.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.stack.app_model import app_model_env, app_model_route
from vibench_gym.stack.app_server import AppServer
from vibench_gym.stack.base import Seed, StackUsage
from vibench_gym.stack.compose import file_transfer, process
from vibench_gym.stack.compose.app_host import ComposeAppHost, outward_ports, write_launcher
from vibench_gym.stack.compose.database import control, start_database
from vibench_gym.stack.compose.project import Project
from vibench_gym.stack.lifecycle import MAX_SEED_BYTES, MAX_SEED_FILES, StackLifecycle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.sandbox.base import ExecResult
    from vibench_gym.stack.compose.engine import Engine

_COUNTED: Final = ("app", "shell", "database", "browser")


class ComposeStack(StackLifecycle):
    """A fresh app with its database, from the snapshot that set-up left."""

    def __init__(
        self,
        engine: Engine,
        config: StackConfig,
        *,
        snapshot: Path,
        template: Path,
        log_path: Path | None = None,
        seed: Seed | None = None,
    ) -> None:
        super().__init__(config, seed)
        self._engine = engine
        self._template = template
        self._project = Project(
            engine, config, name="stack", snapshot=snapshot, outward=outward_ports(config)
        )
        self._given = contextlib.AsyncExitStack()
        self._ground = ComposeAppHost(self._project)
        self._server = AppServer(self._ground, config, log_path)
        self._launcher: Path | None = None

    @property
    def browser_executable(self) -> Path:
        """A program that starts Chromium in the app's network.

        Raises:
            SandboxUnavailable: the stack does not stand.
        """
        if self._launcher is None:
            raise SandboxUnavailable("the stack does not stand")
        return self._launcher

    async def exec(
        self, command: str, *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        """Run a shell command as the app's user beside its server, cwd `/app`."""
        given = app_model_env(self._config.app_model)
        told = {**self._server.env, **(env or {}), **given}
        return await process.run(self._project, command, timeout_s=timeout_s, env=told)

    async def usage(self) -> StackUsage:
        """Memory, disk and processes of the whole stack."""
        containers = [self._project.container(name) for name in _COUNTED]
        told = await asyncio.gather(*map(self._engine.stats, containers))
        memory = sum(int(one.get("memory_stats", {}).get("usage", 0)) for one in told)
        processes = sum(int(one.get("pids_stats", {}).get("current", 0)) for one in told)
        return StackUsage(memory, (await self._project.state())[1], processes)

    async def _open(self) -> None:
        await self._project.__aenter__()
        await self._given.enter_async_context(
            app_model_route(self._project, self._config.app_model)
        )

    async def _fill(self) -> None:
        await file_transfer.restore(self._project)
        self._launcher = await asyncio.to_thread(write_launcher, self._project)

    async def _close(self) -> None:
        try:
            await self._ground.forget()
            await self._given.aclose()
        finally:
            await self._project.close()

    async def _start_database(self) -> None:
        await start_database(self._project)

    async def _read_seed(self) -> dict[str, bytes]:
        return await file_transfer.read_seed(
            self._project, max_files=MAX_SEED_FILES, max_bytes=MAX_SEED_BYTES
        )

    async def _write_seed(self, files: Mapping[str, bytes]) -> None:
        await file_transfer.write_seed(self._project, files)

    async def _control(self) -> None:
        await control(self._engine, self._config, self._template)
