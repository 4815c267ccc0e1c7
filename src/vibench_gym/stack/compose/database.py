# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL in its container: starting and stopping it, and the control without the app."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from vibench_gym.stack import postgres, postgres_session
from vibench_gym.stack.compose import file_transfer
from vibench_gym.stack.compose.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.compose.engine import Engine

_POLL_S: Final = 0.05


async def start_database(project: Project) -> None:
    """Start PostgreSQL on the cluster in the state and wait until it takes connections.

    Raises:
        PostgresNotStarted: it does not come up.
        SandboxUnavailable: the engine is gone.
    """
    await file_transfer.let_database_start(project)
    looks = 0
    try:
        async with asyncio.timeout(postgres.START_TIMEOUT_S):
            while not await postgres.takes_connections(project.connect):
                looks += 1
                if looks % 10 == 0 and not await project.running("database"):
                    raise postgres.PostgresNotStarted(await _last_words(project))
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        text = f"PostgreSQL took no connection in {postgres.START_TIMEOUT_S:g} s"
        raise postgres.PostgresNotStarted(f"{text}: {await _last_words(project)}") from None


async def control(engine: Engine, config: StackConfig, template: Path) -> None:
    """Start PostgreSQL on the template in fresh containers.

    Raises:
        DatabaseUnavailable: not even that works.
        SandboxUnavailable: the containers do not come up.
    """
    fresh = Project(engine, config, name="control", snapshot=template, services=("net", "database"))
    async with fresh as project:
        await file_transfer.restore(project)
        with postgres.failure_is_ours():
            await start_database(project)
            await postgres_session.take_a_row(project.connect)


async def _last_words(project: Project) -> str:
    logs = await project.engine.call("logs", "--tail", "20", project.container("database"))
    return f"PostgreSQL's last words: {(logs.stdout + logs.stderr).strip()[-2000:] or '(none)'}"


async def stop_database(project: Project) -> None:
    """Stop PostgreSQL; its files are consistent afterwards."""
    await project.engine.call("stop", "--time", "15", project.container("database"))
