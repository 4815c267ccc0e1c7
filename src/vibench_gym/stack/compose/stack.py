# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One standing stack in containers; see `vibench_gym.stack.base.Stack`.

Nothing tells what was killed from outside of a container from what an app killed, so all of that
is the app's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from vibench_gym.stack.app_model import app_model_env
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
    from vibench_gym.sandbox.exec_result import ExecResult
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
        self._project = Project(
            engine, config, name="stack", snapshot=snapshot, outward=outward_ports(config)
        )
        self._app_host = ComposeAppHost(self._project)
        super().__init__(
            config, network=self._project, app_host=self._app_host, log_path=log_path, seed=seed
        )
        self._engine = engine
        self._template = template

    async def exec(
        self, command: str, *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        """Run a shell command as the app's user beside its server, cwd `/app`."""
        model_env = app_model_env(self._config.app_model)
        all_env = {**self._server.env, **(env or {}), **model_env}
        return await process.run(self._project, command, timeout_s=timeout_s, env=all_env)

    async def usage(self) -> StackUsage:
        """Memory, disk and processes of the whole stack."""
        containers = [self._project.container(name) for name in _COUNTED]
        stats = await asyncio.gather(*map(self._engine.stats, containers))
        memory = sum(int(one.get("memory_stats", {}).get("usage", 0)) for one in stats)
        processes = sum(int(one.get("pids_stats", {}).get("current", 0)) for one in stats)
        used = (await self._project.state()).used_bytes
        killed = await self._project.out_of_memory("browser")
        limit = self._config.browser.memory_bytes if killed else None
        return StackUsage(memory, used, processes, limit)

    async def _open(self) -> None:
        await super()._open()
        self._on_leaving.push_async_callback(self._app_host.forget)

    async def _fill(self) -> None:
        await file_transfer.restore(self._project)
        self._launcher = await asyncio.to_thread(write_launcher, self._project)

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
