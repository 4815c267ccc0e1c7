# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One standing stack: a zone from the snapshot, its database, its server.

Whose fault a failure is: what the app's own processes do is the app's. A database that does not
start is tried again on the template, which no app had a hand in; only if that fails too is it ours.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from vibench_gym.core.config import MIB
from vibench_gym.core.errors import (
    AppSetupFailed,
    AppStartFailed,
    DatabaseUnavailable,
    SandboxUnavailable,
    SeedingFailed,
)
from vibench_gym.sandbox.base import ExecResult
from vibench_gym.sandbox.zone import StateLimitReached, Zone
from vibench_gym.stack import envfile
from vibench_gym.stack.app_model import app_model_route
from vibench_gym.stack.app_server import AppServer, ZoneGround
from vibench_gym.stack.base import Seed, StackUsage
from vibench_gym.stack.postgres import Database, PostgresNotStarted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from vibench_gym.sandbox.uids import UidLease
    from vibench_gym.stack.app_box import AppBoxes
    from vibench_gym.stack.base import AppStatus
    from vibench_gym.stack.chromium import Chromium

SEED_SCRIPT = "seed.sh"
MAX_SEED_FILES = 500
MAX_SEED_BYTES = 64 * MIB


class LocalStack:
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
        self._snapshot = snapshot
        self._template = template
        self._boxes = boxes
        self._config = boxes.config
        self._uids = uids
        self._chromium = chromium
        self._log_path = log_path
        self._seed = seed
        self._timings: dict[str, float] = {}
        self._zone = self._new_zone(snapshot, "stack")
        self._database = Database(self._zone, boxes.toolchain.postgres, self._config.database)
        self._server = AppServer(ZoneGround(self._zone, boxes), self._config, log_path)
        self._launcher: Path | None = None
        self._ways_out = contextlib.AsyncExitStack()

    @property
    def url(self) -> str:
        """Where the app is inside its network namespace."""
        return f"http://localhost:{self._config.port}"

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds spent so far, by phase."""
        return dict(self._timings)

    @property
    def browser_executable(self) -> Path:
        """A program that starts Chromium inside the app's network namespace.

        Raises:
            SandboxUnavailable: there is no Chromium to start.
        """
        if self._launcher is None:
            raise SandboxUnavailable("the stack does not stand, or was made without a browser")
        return self._launcher

    async def __aenter__(self) -> Self:
        """Bring everything up; on failure nothing is left."""
        try:
            with self._timed("namespaces"):
                await self._zone.__aenter__()
                await self._ways_out.enter_async_context(
                    app_model_route(self._zone, self._config.app_model)
                )
            with self._timed("files"):
                await self._ready_browser()
            with self._timed("database"):
                await self._start_database()
            with self._timed("app_start"):
                await self._start_app()
            if self._seed is not None:
                with self._timed("files"):
                    await self._enter_seeded(self._seed)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End everything in the zone and the zone itself."""
        await self._close()

    async def _close(self) -> None:
        try:
            await self._zone.close()
        finally:
            await self._ways_out.aclose()

    async def exec(
        self, command: str, *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        """Run a shell command as the app's user in the app's zone, cwd `/app`."""
        spec = self._boxes.app(
            "/usr/bin/bash", "-c", command, env={**self._server.env, **(env or {})}, seeds=True
        )
        return await self._zone.run(spec, timeout_s=timeout_s)

    async def read_seed_folder(self) -> Seed:
        """The regular files below `/seeding`; `.env.seeding` becomes `Seed.env`.

        Raises:
            SeedingFailed: there is more than a seed may hold.
        """
        try:
            files = await self._zone.get_files(
                "seeding", max_files=MAX_SEED_FILES, max_bytes=MAX_SEED_BYTES
            )
        except StateLimitReached as error:
            raise SeedingFailed(f"the seed is too large: {error}") from error
        env = envfile.parse(files.pop(envfile.ENV_FILE, b""))
        return Seed(files=files, env=env)

    async def apply_seed(self, seed: Seed) -> ExecResult:
        """Place the files at `/seeding`, run `seed.sh` beside the running app, restart the app.

        Raises:
            AppStartFailed: the app does not come up on the seed.
        """
        await self.exec(
            "/usr/bin/find /seeding -mindepth 1 -delete", timeout_s=self._config.seed_timeout_s
        )
        if seed.files:
            try:
                await self._zone.put_files("seeding", seed.files)
            except StateLimitReached as error:  # the app has filled its zone
                full = f"the seed does not fit beside what the app wrote: {error}"
                return ExecResult(stdout="", stderr=full, return_code=1)
        env = envfile.allowed(seed.env)
        result = ExecResult(stdout="", stderr="", return_code=0)
        if SEED_SCRIPT in seed.files:
            result = await self.exec(
                f"/usr/bin/bash /seeding/{SEED_SCRIPT}",
                timeout_s=self._config.seed_timeout_s,
                env=env,
            )
        if result.return_code == 0:
            await self.restart_app(env)
        return result

    async def restart_app(self, env: Mapping[str, str] | None = None) -> None:
        """Stop the app and start it again with `env` added.

        Raises:
            AppStartFailed: it does not serve a document in time.
        """
        await self._server.restart(envfile.allowed(env or {}))

    async def app_status(self) -> AppStatus:
        """Whether the app is running, and its last words."""
        return replace(await self._server.status(), disturbance=self._disturbance())

    async def usage(self) -> StackUsage:
        """Memory, disk and processes of the whole stack."""
        usage = await self._zone.usage()
        return StackUsage(usage.memory_bytes, usage.state_bytes, usage.processes)

    async def healthy(self) -> bool:
        """Whether a fresh zone with a database from the template still comes up."""
        try:
            await self._control()
        except (SandboxUnavailable, DatabaseUnavailable):
            return False
        return True

    async def _ready_browser(self) -> None:
        if self._chromium is None:
            return
        self._launcher = await self._zone.launcher(self._boxes.browser(self._chromium))

    async def _start_app(self) -> None:
        try:
            await self._server.start()
        except AppStartFailed as fault:
            fault.doubt = self._disturbance()
            raise

    def _disturbance(self) -> str | None:
        return self._server.disturbance or self._database.disturbance

    async def _enter_seeded(self, seed: Seed) -> None:
        result = await self.apply_seed(seed)
        if result.return_code != 0:
            said = (result.stdout + result.stderr)[-1000:]
            raise SeedingFailed(
                f"{SEED_SCRIPT} ended with {result.return_code} in a fresh stack: {said}"
            )

    async def _start_database(self) -> None:
        try:
            await self._database.start()
        except PostgresNotStarted as error:
            await self._control()
            raise AppSetupFailed(
                f"the database does not start on what set-up left of it: {error}"
            ) from error

    async def _control(self) -> None:
        """Start PostgreSQL on the template in a fresh zone.

        Raises:
            DatabaseUnavailable: not even that works.
            SandboxUnavailable: no zone can be made.
        """
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

    @contextlib.contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self._timings[phase] = self._timings.get(phase, 0.0) + spent
