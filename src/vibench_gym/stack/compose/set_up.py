# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One run of `setup-environment.sh` in containers, and the snapshot of what it left.

As on the local stack, whatever set-up does is the app's fault; only what also happens to the
template, without the app, is ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from vibench_gym.core.errors import (
    AppSetupFailed,
    DatabaseUnavailable,
    SandboxUnavailable,
)
from vibench_gym.sandbox.zone.zone import StateLimitReached
from vibench_gym.stack import postgres
from vibench_gym.stack.app_model import app_model_env, app_model_route
from vibench_gym.stack.base import SetupReport
from vibench_gym.stack.compose import file_transfer, process
from vibench_gym.stack.compose.app_host import ComposeAppHost, outward_ports
from vibench_gym.stack.compose.database import start_database, stop_database
from vibench_gym.stack.compose.process import ContainerProcess
from vibench_gym.stack.compose.project import Project
from vibench_gym.stack.local.boxes import SETUP_SCRIPT, START_SCRIPT
from vibench_gym.stack.local.set_up import TAIL_CHARS
from vibench_gym.stack.registry.mirror import MIRROR_PORT, Mirror
from vibench_gym.stack.registry.upstream import Upstream
from vibench_gym.stack.snapshots import snapshot_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
    from vibench_gym.stack.compose.engine import Engine
    from vibench_gym.stack.compose.template import ComposeTemplate
    from vibench_gym.stack.registry.registries import Registries


class ComposeSetUp:
    """One run of an app's set-up."""

    def __init__(
        self,
        engine: Engine,
        config: StackConfig,
        template: ComposeTemplate,
        *,
        registries: Registries | None,
        cache: Path,
    ) -> None:
        self._engine = engine
        self._config = config
        self._template = template
        self._registries = registries
        self._cache = cache
        self._mirror: Mirror | None = None
        self.work: WorkFolder | None = None
        """Holds the snapshot, as soon as there is one."""
        self.needs_retry = False
        """A registry failed the script, and works now, or there is room again for what could not be
        copied: another run may come to another end."""

    async def run(self, app_dir: Path, log_path: Path | None) -> tuple[SetupReport, WorkFolder]:
        """Run it on a copy of the app; the snapshot is the work folder.

        Raises:
            AppSetupFailed: it failed, hung, or used more than it may.
            DatabaseUnavailable: PostgreSQL does not start from the template.
            RegistryUnavailable: a registry failed it, and fails us, too.
            SandboxUnavailable: containers cannot be made or their files cannot be kept.
        """
        for script in (SETUP_SCRIPT, START_SCRIPT):
            if not (app_dir / script).is_file():
                raise AppSetupFailed(f"the app has no {script}")
        async with Project(
            self._engine,
            self._config,
            name="setup",
            snapshot=self._template.folder,
            artifact=app_dir,
            outward=outward_ports(self._config, mirrored=self._mirrored),
            services=("net", "app", "shell", "database"),
        ) as project:
            await file_transfer.restore(project)
            try:
                await file_transfer.place_app(project)
            except StateLimitReached as error:
                raise AppSetupFailed(f"the app does not fit its space: {error}") from error
            try:
                await start_database(project)
            except postgres.PostgresNotStarted as error:
                raise DatabaseUnavailable(str(error)) from error
            given = app_model_route(project, self._config.app_model)
            async with self._egress(project), given:
                report = await self._script(project, log_path)
            await process.kill_everything(project, "app")
            await stop_database(project)
            return report, await self._save(project)

    @property
    def _mirrored(self) -> bool:
        return self._registries is not None and self._config.egress != "none"

    async def _save(self, project: Project) -> WorkFolder:
        size = (await project.state())[1]
        self.work = await asyncio.to_thread(snapshot_folder, size)
        try:
            await file_transfer.save(project, self.work.path)
        except StateLimitReached as error:
            raise AppSetupFailed(f"set-up left too much behind: {error}") from error
        except SandboxUnavailable as error:
            await self._control_copy(self.work)
            self.needs_retry = True  # a disk that was full for a moment looks the same
            raise AppSetupFailed(f"what set-up left cannot be copied: {error}") from error
        return self.work

    async def _control_copy(self, work: WorkFolder) -> None:
        """Whether the template can be copied where what set-up left could not."""
        fresh = Project(
            self._engine, self._config, name="control", snapshot=self._template.folder,
            services=("net",),
        )  # fmt: skip
        async with fresh as project:
            await file_transfer.restore(project)
            await file_transfer.save(project, work.path)

    @contextlib.asynccontextmanager
    async def _egress(self, project: Project) -> AsyncIterator[None]:
        registries, egress = self._registries, self._config.egress
        if registries is None or egress == "none":
            yield
            return
        async with Upstream(self._cache / "mirror") as upstream:
            self._mirror = Mirror(
                registries,
                upstream,
                egress=egress,
                extra_hosts=frozenset(self._config.extra_registry_hosts),
            )
            try:
                async with self._mirror.serving_set_up(await project.listen(MIRROR_PORT)):
                    yield
            finally:
                self.needs_retry |= self._mirror.stumbled

    async def _script(self, project: Project, log_path: Path | None) -> SetupReport:
        env = dict(app_model_env(self._config.app_model))
        env |= self._mirror.env if self._mirror is not None else {}
        log = log_path or project.work / "setup.log"
        start = time.perf_counter()
        command = f'exec "$BASH" {SETUP_SCRIPT}'
        process = await ContainerProcess.start(project, command, env=env, log=log)
        limit = self._config.setup_timeout_s
        try:
            code = await process.wait(limit)
            if code != 0:
                why = " (it used more than it may)" if process.killed else ""
                text = f"{SETUP_SCRIPT} ended with exit code {code}{why}"
                raise await self._failure(project, process, text)
            tail = await process.output_tail(TAIL_CHARS)
        except TimeoutError:
            await process.kill()
            text = f"{SETUP_SCRIPT} did not end within {limit:g} s"
            raise await self._failure(project, process, text) from None
        finally:
            await process.forget()
        return SetupReport(
            duration_s=time.perf_counter() - start,
            return_code=code,
            log_tail=tail,
            python_version=self._template.python_version,
            node_version=self._template.node_version,
            blocked_hosts=self._mirror.blocked_hosts if self._mirror is not None else {},
        )

    async def _failure(
        self, project: Project, process: ContainerProcess, text: str
    ) -> AppSetupFailed:
        blocked = self._mirror.blocked_hosts if self._mirror is not None else {}
        if blocked:
            text += f"; hosts it was refused: {', '.join(list(blocked)[:10])}"
        if await ComposeAppHost(project).has_crlf(SETUP_SCRIPT):
            text += f"; {SETUP_SCRIPT} has CRLF line endings, which bash takes as part of commands"
        tail = (await process.output_tail(TAIL_CHARS)).strip()
        return AppSetupFailed(f"{text}. Last output: {tail[-2000:] or '(none)'}")
