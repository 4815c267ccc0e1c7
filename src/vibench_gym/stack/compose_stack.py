# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One standing stack in containers; see `vibench_gym.stack.base.Stack`.

Whose fault a failure is, is found as on the local stack: what the app's own processes do is the
app's; a database that does not start is tried again on the template, which no app had a hand in.
But nothing tells what was killed from outside of a container from what an app killed, so all of
that is the app's.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final, Self

from vibench_gym.core.errors import (
    AppSetupFailed,
    DatabaseUnavailable,
    SandboxUnavailable,
    SeedingFailed,
)
from vibench_gym.sandbox.base import ExecResult
from vibench_gym.sandbox.zone import StateLimitReached
from vibench_gym.stack import compose_files, compose_process, envfile, postgres
from vibench_gym.stack.app_model import app_model_env, app_model_route
from vibench_gym.stack.app_server import AppServer
from vibench_gym.stack.base import Seed, StackUsage
from vibench_gym.stack.compose_database import control, start_database
from vibench_gym.stack.compose_ground import ComposeGround, outward_ports, write_launcher
from vibench_gym.stack.compose_project import Project
from vibench_gym.stack.local_stack import MAX_SEED_BYTES, MAX_SEED_FILES, SEED_SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.base import AppStatus
    from vibench_gym.stack.compose_engine import Engine

_COUNTED: Final = ("app", "shell", "database", "browser")


class ComposeStack:
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
        self._engine = engine
        self._config = config
        self._template = template
        self._seed = seed
        self._timings: dict[str, float] = {}
        self._project = Project(
            engine, config, name="stack", snapshot=snapshot, outward=outward_ports(config)
        )
        self._given = contextlib.AsyncExitStack()
        self._ground = ComposeGround(self._project)
        self._server = AppServer(self._ground, config, log_path)
        self._launcher: Path | None = None

    @property
    def url(self) -> str:
        """Where the app is inside the containers' network."""
        return f"http://localhost:{self._config.port}"

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds spent so far, by phase."""
        return dict(self._timings)

    @property
    def browser_executable(self) -> Path:
        """A program that starts Chromium in the app's network.

        Raises:
            SandboxUnavailable: the stack does not stand.
        """
        if self._launcher is None:
            raise SandboxUnavailable("the stack does not stand")
        return self._launcher

    async def __aenter__(self) -> Self:
        """Bring everything up; on failure nothing is left."""
        try:
            with self._timed("namespaces"):
                await self._project.__aenter__()
                await self._given.enter_async_context(
                    app_model_route(self._project, self._config.app_model)
                )
            with self._timed("files"):
                await compose_files.restore(self._project)
                self._launcher = await asyncio.to_thread(write_launcher, self._project)
            with self._timed("database"):
                await self._start_database()
            with self._timed("app_start"):
                await self._server.start()
            if self._seed is not None:
                with self._timed("files"):
                    await self._enter_seeded(self._seed)
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the containers and all that is in them."""
        await self._leave()

    async def _leave(self) -> None:
        try:
            await self._ground.forget()
            await self._given.aclose()
        finally:
            await self._project.close()

    async def exec(
        self, command: str, *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        """Run a shell command as the app's user beside its server, cwd `/app`."""
        given = app_model_env(self._config.app_model)
        told = {**self._server.env, **(env or {}), **given}
        return await compose_process.run(self._project, command, timeout_s=timeout_s, env=told)

    async def read_seed_folder(self) -> Seed:
        """The regular files below `/seeding`; `.env.seeding` becomes `Seed.env`.

        Raises:
            SeedingFailed: there is more than a seed may hold.
        """
        try:
            files = await compose_files.read_seed(
                self._project, max_files=MAX_SEED_FILES, max_bytes=MAX_SEED_BYTES
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
        try:
            await compose_files.write_seed(self._project, seed.files)
        except StateLimitReached as error:
            return ExecResult(stdout="", stderr=f"the seed does not fit: {error}", return_code=1)
        env = envfile.allowed(seed.env)
        result = ExecResult(stdout="", stderr="", return_code=0)
        if SEED_SCRIPT in seed.files:
            result = await self.exec(
                f"exec bash /seeding/{SEED_SCRIPT}",
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
        return await self._server.status()

    async def usage(self) -> StackUsage:
        """Memory, disk and processes of the whole stack."""
        containers = [self._project.container(name) for name in _COUNTED]
        told = await asyncio.gather(*map(self._engine.stats, containers))
        memory = sum(int(one.get("memory_stats", {}).get("usage", 0)) for one in told)
        processes = sum(int(one.get("pids_stats", {}).get("current", 0)) for one in told)
        return StackUsage(memory, (await self._project.state())[1], processes)

    async def healthy(self) -> bool:
        """Whether fresh containers with a database from the template still come up."""
        try:
            await control(self._engine, self._config, self._template)
        except (SandboxUnavailable, DatabaseUnavailable):
            return False
        return True

    async def _enter_seeded(self, seed: Seed) -> None:
        result = await self.apply_seed(seed)
        if result.return_code != 0:
            said = (result.stdout + result.stderr)[-1000:]
            raise SeedingFailed(
                f"{SEED_SCRIPT} ended with {result.return_code} in a fresh stack: {said}"
            )

    async def _start_database(self) -> None:
        try:
            await start_database(self._project)
        except postgres.PostgresNotStarted as error:
            await control(self._engine, self._config, self._template)
            raise AppSetupFailed(
                f"the database does not start on what set-up left of it: {error}"
            ) from error

    @contextlib.contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self._timings[phase] = self._timings.get(phase, 0.0) + spent
