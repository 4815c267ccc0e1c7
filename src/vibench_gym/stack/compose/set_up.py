# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One run of `setup-environment.sh` in containers; see `vibench_gym.stack.set_up.SetUp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.core.errors import AppSetupFailed
from vibench_gym.sandbox.zone.box import StateLimitReached
from vibench_gym.stack.compose import file_transfer, process
from vibench_gym.stack.compose.app_host import ComposeAppHost, outward_ports
from vibench_gym.stack.compose.database import start_database, stop_database
from vibench_gym.stack.compose.project import Project
from vibench_gym.stack.set_up import SetUp

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.base import SetupReport
    from vibench_gym.stack.compose.host import ComposeHost


class ComposeSetUp(SetUp):
    """One run of an app's set-up; the snapshot is the work folder."""

    _app_host: ComposeAppHost

    def __init__(
        self, host: ComposeHost, config: StackConfig, app_dir: Path, log_path: Path | None
    ) -> None:
        super().__init__(config, app_dir, log_path, registries=host.registries, cache=host.cache)
        self._host = host
        self._network = self._project = Project(
            host.engine,
            config,
            name="setup",
            snapshot=host.template.folder,
            artifact=app_dir,
            outward=outward_ports(config, mirrored=self._registries is not None),
            services=("net", "app", "shell", "database"),
        )
        self._app_host = ComposeAppHost(self._project)

    async def _place_files(self) -> None:
        await file_transfer.restore(self._project)
        try:
            await file_transfer.place_app(self._project)
        except StateLimitReached as error:
            raise AppSetupFailed(f"the app does not fit its space: {error}") from error

    async def _start_database(self) -> None:
        await start_database(self._project)

    async def _run_script(self) -> SetupReport:
        try:
            return await super()._run_script()
        finally:
            await self._app_host.forget()

    async def _stop(self) -> None:
        await process.kill_everything(self._project, "app")
        await stop_database(self._project)

    async def _state_bytes(self) -> int:
        return (await self._project.state()).used_bytes

    async def _export(self, folder: Path) -> None:
        await file_transfer.save(self._project, folder)

    async def _control_export(self, folder: Path, size: int) -> None:
        del size  # the template's own files, in the same place, tell a full disk
        template = self._host.template.folder
        fresh = Project(
            self._host.engine, self._config, name="control", snapshot=template, services=("net",)
        )
        async with fresh as project:
            await file_transfer.restore(project)
            await file_transfer.save(project, folder)

    def _versions(self) -> tuple[str, str]:
        return self._host.template.python_version, self._host.template.node_version
