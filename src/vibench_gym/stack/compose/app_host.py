# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How an app's scripts, and the browser, are started in their containers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from vibench_gym.stack import app_model
from vibench_gym.stack.compose import process
from vibench_gym.stack.compose.process import ContainerProcess
from vibench_gym.stack.packages.mirror import MIRROR_PORT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.compose.project import Project
    from vibench_gym.stack.readiness import Connect

_CRLF_TIMEOUT_S: Final = 10.0
# Playwright talks over descriptors 3 and 4, a container's commands have only 0 to 2.
_LAUNCHER: Final = """#!/bin/sh
# Starts Chromium in the stack's browser container, with the caller's pipes and arguments.
if {{ true <&3; }} 2>/dev/null; then
  exec env -i {env} {exec} sh -c 'exec "$@" 3<&0 4>&1 0</dev/null 1>&2' sh {program} "$@" 0<&3 1>&4
fi
exec env -i {env} {exec} {program} "$@"
"""


def outward_ports(config: StackConfig, *, mirrored: bool = False) -> tuple[int, ...]:
    """Ports of the containers' loopback that lead to something of the grader's."""
    mirror = (MIRROR_PORT,) if mirrored else ()
    return mirror if config.app_model is None else (*mirror, app_model.PORT)


class ComposeAppHost:
    """Where an app's scripts run in containers; see `vibench_gym.stack.app_server.AppHost`."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._started: list[ContainerProcess] = []

    @property
    def connect(self) -> Connect:
        """Opens connections in the containers' network."""
        return self._project.connect

    async def launch(
        self, script: str, env: Mapping[str, str], log_path: Path | None
    ) -> ContainerProcess:
        """Start a script of the app's."""
        model_env = app_model.app_model_env(self._project.config.app_model)
        # Where nothing can be reached, clients should say so at once; set-up overrides these.
        all_env = {"PIP_RETRIES": "0", "npm_config_fetch_retries": "0", **env, **model_env}
        log = log_path or self._project.work / "app.log"
        command = f'exec "$BASH" {shlex.quote(script)}'
        process = await ContainerProcess.start(self._project, command, env=all_env, log=log)
        self._started.append(process)
        return process

    async def listening_ports(self) -> tuple[int, ...]:
        """Ports on which something listens."""
        ours = outward_ports(self._project.config)
        state = await self._project.state()
        return tuple(port for port in state.listening_ports if port not in ours)

    async def has_crlf(self, script: str) -> bool:
        """Whether the script has CRLF line endings."""
        command = f"grep -q -m1 -U $'\\r$' {shlex.quote(script)}"
        result = await process.run(self._project, command, timeout_s=_CRLF_TIMEOUT_S)
        return result.return_code == 0

    async def forget(self) -> None:
        """Let go of the clients that started scripts; what runs in a container goes with it."""
        while self._started:
            await self._started.pop().forget()


def write_launcher(project: Project) -> Path:
    """A program that starts Chromium in the stack's browser container."""
    engine = project.engine
    env = shlex.join(f"{name}={value}" for name, value in engine.env.items())
    call = shlex.join((engine.docker, "exec", "--interactive", project.container("browser")))
    program = shlex.quote(project.config.compose.browser_program)
    path = project.work / "chromium"
    path.write_text(_LAUNCHER.format(env=env, exec=call, program=program))
    path.chmod(0o700)
    return path
