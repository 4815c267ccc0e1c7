# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every app starts from: an empty virtualenv, home and database cluster, made once.

Made inside a zone, since scripts in a virtualenv carry the path they were made for. The template is
also the control of every experiment about whose fault a database is: no app had a hand in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.sandbox.zone.box import Bind, BoxSpec
from vibench_gym.sandbox.zone.uids import UidLease
from vibench_gym.sandbox.zone.zone import Zone
from vibench_gym.stack.cache import made_once_async
from vibench_gym.stack.local.database import Database
from vibench_gym.stack.postgres import failure_is_ours

if TYPE_CHECKING:
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
    return await made_once_async(entry, lambda content: _make(content, toolchain, config))


async def _make(target: Path, toolchain: Toolchain, config: StackConfig) -> None:
    lease = UidLease.acquire()
    try:
        async with Zone(
            snapshot=None, state_bytes=config.state_bytes, uids=lease, name="template"
        ) as zone:
            await _make_venv(zone, toolchain, config)
            database = Database(zone, toolchain.postgres, config.database)
            with failure_is_ours():
                await database.initialise()
                await database.start()
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
        output = (result.stdout + result.stderr)[-1000:]
        raise PrerequisiteMissing(
            f"Python {python.version} at {str(python.prefix)!r} makes no virtualenv: {output}",
            "set app_python to a complete Python 3.12",
        )
