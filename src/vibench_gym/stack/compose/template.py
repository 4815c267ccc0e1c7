# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every app in containers starts from: an empty virtualenv, home and database cluster.

Made once for a pair of images, without an app; so it is also the control of every experiment about
whose fault a database is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import DatabaseUnavailable, PrerequisiteMissing
from vibench_gym.stack import postgres
from vibench_gym.stack.cache import made_once_async
from vibench_gym.stack.compose import file_transfer, process
from vibench_gym.stack.compose.database import start_database, stop_database
from vibench_gym.stack.compose.images import image_id
from vibench_gym.stack.compose.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.compose.engine import Engine
    from vibench_gym.stack.compose.project import Service

FORMAT: Final = 1
"""Raised whenever the way templates are made changes."""
VERSIONS: Final = "versions.json"
_MAKE_TIMEOUT_S: Final = 180.0
_VERSIONS: Final = "python3 --version; node --version"
_INITIALISE: Final = f"""
set -e
umask 077
printf '%s\\n' {postgres.PASSWORD} > /tmp/password
initdb -D /data/cluster --pwfile=/tmp/password {postgres.INITDB_OPTIONS}
echo {shlex.quote(postgres.CREATE_DATABASE)} |
  postgres --single -D /data/cluster postgres
"""


@dataclass(frozen=True, slots=True)
class ComposeTemplate:
    """An empty virtualenv, home and database cluster, made once for a pair of images."""

    folder: Path
    python_version: str
    node_version: str


async def find_compose_template(
    engine: Engine, config: StackConfig, cache: Path
) -> ComposeTemplate:
    """The template for the configured images, made under a lock when missing.

    Raises:
        PrerequisiteMissing: an image is not there, or lacks a part.
        DatabaseUnavailable: no cluster can be made.
        SandboxUnavailable: no containers can be made.
    """
    images = config.compose
    ids = [str(FORMAT)]
    names = (images.app_image, images.database_image or images.app_image)
    ids += [await image_id(engine, name) for name in names]
    key = hashlib.sha256("\0".join(ids).encode()).hexdigest()[:16]
    entry = cache / "compose-templates" / key
    await made_once_async(entry, lambda content: _make(engine, config, content))
    versions = json.loads((entry / VERSIONS).read_text())
    return ComposeTemplate(entry, versions["python"], versions["node"])


async def _make(engine: Engine, config: StackConfig, folder: Path) -> None:
    await asyncio.to_thread(folder.mkdir, mode=0o700)
    services: tuple[Service, ...] = ("net", "shell", "database")
    async with Project(engine, config, name="template", services=services) as project:
        made = await process.run(
            project, f"python3 -m venv /venv && {_VERSIONS}", timeout_s=_MAKE_TIMEOUT_S
        )
        words = made.stdout.split()
        if made.return_code != 0 or len(words) < 3:  # noqa: PLR2004 (Python X, vY)
            raise PrerequisiteMissing(
                f"image {config.compose.app_image!r} lacks Python with venv, or Node: "
                f"{(made.stdout + made.stderr).strip()[-500:]}",
                "use another app_image, or make one: vibench-gym images",
            )
        cluster = await engine.call("exec", project.container("database"), "sh", "-c", _INITIALISE)
        if cluster.return_code != 0:
            output = (cluster.stdout + cluster.stderr).strip()[-1000:]
            raise DatabaseUnavailable(f"initdb ended with {cluster.return_code}: {output}")
        with postgres.failure_is_ours():
            await start_database(project)
        await stop_database(project)
        await file_transfer.save(project, folder)
        versions = {"python": words[1], "node": words[2]}
        (folder / VERSIONS).write_text(json.dumps(versions))
