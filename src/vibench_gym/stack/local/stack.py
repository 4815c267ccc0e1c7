# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One standing stack: a zone from the snapshot, its database, its server."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from vibench_gym.core.errors import (
    AppStartFailed,
    DatabaseUnavailable,
    SandboxUnavailable,
)
from vibench_gym.sandbox.zone.zone import Zone
from vibench_gym.stack.app_model import app_model_route
from vibench_gym.stack.app_server import AppServer, ZoneAppHost
from vibench_gym.stack.base import Seed, StackUsage
from vibench_gym.stack.lifecycle import MAX_SEED_BYTES, MAX_SEED_FILES, StackLifecycle
from vibench_gym.stack.postgres import Database, PostgresNotStarted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.sandbox.base import ExecResult
    from vibench_gym.sandbox.zone.uids import UidLease
    from vibench_gym.stack.base import AppStatus
    from vibench_gym.stack.local.boxes import AppBoxes
    from vibench_gym.stack.toolchain.chromium import Chromium


class LocalStack(StackLifecycle):
    """See `vibench_gym.stack.base.Stack`."""

    def __init__(
        self,
        *,
        snapshot: Path,
        template: Path,
        boxes: AppBoxes,
        uids: UidLease,
        chromium: Chromium | None,
        log_path: Path | None,
        seed: Seed | None,
    ) -> None:
        super().__init__(boxes.config, seed)
        self._template = template
        self._boxes = boxes
        self._uids = uids
        self._chromium = chromium
        self._zone = self._new_zone(snapshot, "stack")
        self._database = Database(self._zone, boxes.toolchain.postgres, self._config.database)
        self._server = AppServer(ZoneAppHost(self._zone, boxes), self._config, log_path)
        self._launcher: Path | None = None
        self._ways_out = contextlib.AsyncExitStack()

    @property
    def browser_executable(self) -> Path:
        """A program that starts Chromium inside the app's network namespace.

        Raises:
            SandboxUnavailable: there is no Chromium to start.
        """
        if self._launcher is None:
            raise SandboxUnavailable("the stack does not stand, or was made without a browser")
        return self._launcher

    async def exec(
        self, command: str, *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        """Run a shell command as the app's user in the app's zone, cwd `/app`."""
        spec = self._boxes.app(
            "/usr/bin/bash", "-c", command, env={**self._server.env, **(env or {})}, seeds=True
        )
        return await self._zone.run(spec, timeout_s=timeout_s)

    async def app_status(self) -> AppStatus:
        """Whether the app is running, and its last words."""
        return replace(await super().app_status(), external_kill=self._external_kill())

    async def usage(self) -> StackUsage:
        """Memory, disk and processes of the whole stack."""
        usage = await self._zone.usage()
        return StackUsage(usage.memory_bytes, usage.state_bytes, usage.processes)

    async def _open(self) -> None:
        await self._zone.__aenter__()
        await self._ways_out.enter_async_context(
            app_model_route(self._zone, self._config.app_model)
        )

    async def _fill(self) -> None:
        if self._chromium is not None:
            self._launcher = await self._zone.launcher(self._boxes.browser(self._chromium))

    async def _close(self) -> None:
        try:
            await self._zone.close()
        finally:
            await self._ways_out.aclose()

    async def _start_app(self) -> None:
        try:
            await super()._start_app()
        except AppStartFailed as fault:
            fault.retry_reason = self._external_kill()
            raise

    def _external_kill(self) -> str | None:
        return self._server.external_kill or self._database.external_kill

    async def _start_database(self) -> None:
        await self._database.start()

    async def _read_seed(self) -> dict[str, bytes]:
        return await self._zone.get_files(
            "seeding", max_files=MAX_SEED_FILES, max_bytes=MAX_SEED_BYTES
        )

    async def _write_seed(self, files: Mapping[str, bytes]) -> None:
        await self.exec(
            "/usr/bin/find /seeding -mindepth 1 -delete", timeout_s=self._config.seed_timeout_s
        )
        if files:
            await self._zone.put_files("seeding", files)

    async def _control(self) -> None:
        async with self._new_zone(None, "control") as zone:
            await zone.import_tree(self._template / "database", "database", "database")
            database = Database(zone, self._boxes.toolchain.postgres, self._config.database)
            try:
                await database.start()
            except PostgresNotStarted as error:
                raise DatabaseUnavailable(str(error)) from error

    def _new_zone(self, snapshot: Path | None, name: str) -> Zone:
        return Zone(
            snapshot=snapshot, state_bytes=self._config.state_bytes, uids=self._uids, name=name
        )
