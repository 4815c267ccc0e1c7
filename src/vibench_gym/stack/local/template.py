# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every app starts from: an empty virtualenv, home and database cluster, made once.

Made inside a zone, since scripts in a virtualenv carry the path they were made for. The template is
also the control of every experiment about whose fault a database is: no app had a hand in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
from typing import TYPE_CHECKING

from vibench_gym.core.errors import DatabaseUnavailable, PrerequisiteMissing
from vibench_gym.sandbox.cleanup.work_folder import work_folder
from vibench_gym.sandbox.zone.zone import Bind, BoxSpec, UidLease, Zone
from vibench_gym.stack.postgres import Database, PostgresNotStarted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.toolchain.toolchain import Toolchain

FORMAT = 1
"""Raised whenever the way templates are made changes."""
VENV_TIMEOUT_S = 180.0


async def find_template(cache: Path, toolchain: Toolchain, config: StackConfig) -> Path:
    """The folder with `venv`, `home` and `database`, made under a lock when missing.

    Raises:
        DatabaseUnavailable: no cluster can be made.
        PrerequisiteMissing: the app Python makes no virtualenv.
        SandboxUnavailable: no zone can be made.
    """
    entry = cache / "templates" / f"{FORMAT}-{toolchain.key}"
    return await made_once(entry, lambda content: _make(content, toolchain, config))


async def made_once(entry: Path, make: Callable[[Path], Awaitable[None]]) -> Path:
    """An entry of a cache, made under a lock when missing; nothing half made is left."""
    if await asyncio.to_thread(entry.is_dir):
        return entry
    await asyncio.to_thread(entry.parent.mkdir, parents=True, exist_ok=True)
    async with _lock(entry.parent / f".{entry.name}.lock"):
        if not await asyncio.to_thread(entry.is_dir):
            async with work_folder("making", entry.parent) as making:
                await make(making / "content")
                (making / "content").rename(entry)
    return entry


async def _make(target: Path, toolchain: Toolchain, config: StackConfig) -> None:
    lease = UidLease.acquire()
    try:
        async with Zone(
            snapshot=None, state_bytes=config.state_bytes, uids=lease, name="template"
        ) as zone:
            await _make_venv(zone, toolchain, config)
            database = Database(zone, toolchain.postgres, config.database)
            try:
                await database.initialise()
                await database.start()
            except PostgresNotStarted as error:
                raise DatabaseUnavailable(str(error)) from error
            await database.stop()
            await zone.export_state(target)
    finally:
        lease.release()


async def _make_venv(zone: Zone, toolchain: Toolchain, config: StackConfig) -> None:
    python = toolchain.python
    spec = BoxSpec(
        argv=(python.box_executable, "-m", "venv", "/venv"),
        user="app",
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"},
        binds=(
            Bind("/venv", state="venv", writable=True),
            *(Bind(target, source=source) for target, source in python.mounts),
        ),
        limits=config.app,
    )
    result = await zone.run(spec, timeout_s=VENV_TIMEOUT_S)
    if result.return_code != 0:
        said = (result.stdout + result.stderr)[-1000:]
        raise PrerequisiteMissing(
            f"Python {python.version} at {str(python.prefix)!r} makes no virtualenv: {said}",
            "set app_python to a complete Python 3.12",
        )


@contextlib.asynccontextmanager
async def _lock(path: Path) -> AsyncIterator[None]:
    """Hold an exclusive lock on a file, made when missing."""
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.1)
        yield
