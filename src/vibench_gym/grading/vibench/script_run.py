# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One run of the scripts: a folder, a PATH of shims, and what it made on the engine until it ends.

The folder holds all that the scripts write, temporary files too. Whether the grader closes the
workplace or is killed (`janitor`), scripts, containers, networks, volumes, images and folder go.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.grading.teardown import close_shielded
from vibench_gym.grading.vibench import docker_objects, janitor
from vibench_gym.grading.vibench.checkout import BASE_IMAGE
from vibench_gym.grading.vibench.docker_shim import Settings
from vibench_gym.grading.vibench.scripts import Script, ScriptResult
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.cleanup.work_folder import PREFIX
from vibench_gym.sandbox.isolated_python import isolated_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from vibench_gym.grading.vibench.checkout import Checkout, DockerHost

REMOVE_FOR_S: Final = 120.0
_NAMES: Final = ("docker", "docker-compose")


@dataclass(slots=True)
class ScriptRun:
    """An async context manager: everything of the run is gone when it is left."""

    checkout: Checkout
    host: DockerHost
    environment: Mapping[str, str]
    grace_s: float
    output_bytes: int
    on_left: Callable[[str], None]
    """Told of what could not be removed."""
    run: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def folder(self) -> Path:
        """Where the run writes."""
        return Path(tempfile.gettempdir()).resolve() / f"{PREFIX}vibench-{self.run}"

    async def __aenter__(self) -> Self:
        """Make the folder.

        Raises:
            SandboxUnavailable: our own file system failed.
        """
        try:
            await asyncio.to_thread(self._make)
        except OSError as error:
            await self._close()
            raise SandboxUnavailable(f"no folder to run ViBench's scripts in: {error}") from error
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove everything, however often the waiting is cancelled."""
        await self._close()

    async def script(
        self, program: Path, arguments: Sequence[str], timeout_s: float
    ) -> ScriptResult:
        """Run a script of the checkout.

        Raises:
            SandboxUnavailable: it cannot be started.
        """
        script = Script(
            argv=[str(self.checkout.python), str(program), *arguments],
            environment={
                **self.environment,
                "PATH": f"{self.folder / 'bin'}:{self.environment.get('PATH', os.defpath)}",
                "TMPDIR": str(self.folder / "tmp"),
                "COMPOSE_PROJECT_NAME": self._project,
                "PYTHONUNBUFFERED": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            folder=self.checkout.root,
            grace_s=self.grace_s,
            output_bytes=self.output_bytes,
            on_start=lambda pid: janitor.started(self.run, pid),
            on_end=lambda pid: janitor.ended(self.run, pid),
        )
        try:
            return await script.run(timeout_s)
        except OSError as error:
            raise SandboxUnavailable(f"{program.name} cannot be started: {error}") from error

    @property
    def _project(self) -> str:
        """Compose's project where a script names none."""
        return f"vibench-gym-{self.run}"

    def _make(self) -> None:
        janitor.register(
            janitor.Run(self.run, str(self.folder), self.host.docker, self.host.environment)
        )
        self.folder.mkdir(mode=0o700)
        for name in ("bin", "tmp"):
            (self.folder / name).mkdir()
        docker_objects.note(str(self.folder), "project", self._project)
        settings = Settings(
            docker=self.host.docker,
            compose=list(self.host.compose),
            compose_1=self.host.compose_1,
            run=self.run,
            folder=str(self.folder),
            keep=[BASE_IMAGE, BASE_IMAGE.removesuffix(":latest")],
        )
        path = self.folder / "shim.json"
        path.write_text(json.dumps(settings._asdict()), encoding="utf-8")
        program = isolated_python("vibench_gym.grading.vibench.docker_shim")
        command = shlex.join([*program, str(path)])
        for name in _NAMES:
            shim = self.folder / "bin" / name
            shim.write_text(f'#!/bin/sh\nexec {command} {name} "$@"\n', encoding="utf-8")
            shim.chmod(0o755)

    async def _close(self) -> None:
        await close_shielded(asyncio.to_thread(self._remove), self.on_left, REMOVE_FOR_S + 60)

    def _remove(self) -> None:
        folder = str(self.folder)
        left = docker_objects.remove(
            self.host.docker, self.host.environment, self.run, folder, REMOVE_FOR_S
        )
        if left:
            # The janitor tries again when this process ends.
            self.on_left(f"left on the Docker engine: {left}")
            shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        elif remove_tree(self.folder):
            janitor.forget(self.run)
