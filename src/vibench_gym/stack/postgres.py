# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The app's own PostgreSQL: one cluster per stack, in a box of its own inside the app's zone.

The app's database user is a superuser, as the benchmark has it, so the app can run programs where
its database runs: that box gets nothing but PostgreSQL's binaries and its data directory.
Durability is off: a cluster never outlives its zone's memory.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from vibench_gym.sandbox.zone.zone import Bind, BoxSpec

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import ProcessLimits
    from vibench_gym.sandbox.zone.zone import Box, Zone
    from vibench_gym.stack.readiness import Connect
    from vibench_gym.stack.toolchain.postgres import PostgresBinaries

PORT = 5432
DATABASE = "appdb"
USER = "appuser"
PASSWORD = "apppassword"  # noqa: S105 (no secret: it opens nothing outside the app's own zone)
URL = f"postgresql://{USER}:{PASSWORD}@localhost:{PORT}/{DATABASE}"
START_TIMEOUT_S = 60.0
INIT_TIMEOUT_S = 120.0
_POLL_S = 0.01
_PROTOCOL = 3 << 16
SETTINGS = {
    "listen_addresses": "127.0.0.1,::1",
    "port": str(PORT),
    "unix_socket_directories": "/tmp",  # noqa: S108 (the box's own)
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "64MB",
    "min_wal_size": "4MB",
    "max_wal_size": "256MB",
    "huge_pages": "off",
    # Loaded by the server itself: code of the app's there could end it as if it had been killed.
    "shared_preload_libraries": "",
    "log_timezone": "UTC",
}
_INITIALISE = f"""
set -e
initdb -D /data -U {USER} --pwfile=/dev/stdin --auth-local=trust --auth-host=scram-sha-256 \
  --no-sync --encoding=UTF8 --locale=C.UTF-8 --wal-segsize=1
postgres --single -D /data postgres <<< 'create database {DATABASE} owner {USER};'
"""


class PostgresNotStarted(Exception):
    """The server ended or did not answer in time; the message holds its last words."""


class Database:
    """The server of one zone."""

    def __init__(self, zone: Zone, binaries: PostgresBinaries, limits: ProcessLimits) -> None:
        self._zone = zone
        self._binaries = binaries
        self._limits = limits
        self._box: Box | None = None

    @property
    def running(self) -> bool:
        """Whether the server's process is there."""
        return self._box is not None and self._box.returncode is None

    @property
    def external_kill(self) -> str | None:
        """Whether the server was killed by somebody outside of its box; None if it was not.

        The app may end it through its superuser, but not by SIGKILL: it is the box's process 1.
        """
        unasked = self._box is not None and self._box.killed_unasked
        return "PostgreSQL was killed from outside of its box" if unasked else None

    async def initialise(self) -> None:
        """Make an empty cluster with the app's user and database in the zone's state.

        Raises:
            PostgresNotStarted: it could not be made.
        """
        spec = self._spec("/usr/bin/bash", "-c", _INITIALISE)
        result = await self._zone.run(
            spec, stdin=f"{PASSWORD}\n".encode(), timeout_s=INIT_TIMEOUT_S
        )
        if result.return_code != 0:
            said = (result.stdout + result.stderr)[-2000:]
            raise PostgresNotStarted(f"initdb ended with {result.return_code}: {said}")

    async def start(self, *, log_path: Path | None = None) -> None:
        """Start the server on the cluster in the zone's state and wait until it takes connections.

        Raises:
            PostgresNotStarted: it does not come up.
        """
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        program = f"{self._binaries.box_bin}/postgres"
        spec = replace(
            self._spec(program, "-D", "/data", *settings, log_path=log_path), first_process=True
        )
        self._box = box = await self._zone.spawn(spec)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                while not await self._takes_connections():
                    if box.returncode is not None:
                        tail = await box.output_tail()
                        raise PostgresNotStarted(f"PostgreSQL ended with {box.returncode}: {tail}")
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            tail = await box.output_tail()
            raise PostgresNotStarted(
                f"PostgreSQL took no connection in {START_TIMEOUT_S:g} s: {tail}"
            ) from None

    async def stop(self) -> None:
        """Stop the server; its files are consistent afterwards."""
        if self._box is not None:
            await self._box.terminate(grace_s=10.0)
            self._box = None

    def _spec(self, *argv: str, log_path: Path | None = None) -> BoxSpec:
        return BoxSpec(
            argv=argv,
            user="database",
            env={
                "PATH": f"{self._binaries.box_bin}:/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
            },
            binds=(
                Bind("/data", state="database", writable=True),
                *(Bind(target, source=source) for target, source in self._binaries.mounts),
            ),
            cwd="/data",
            limits=self._limits,
            log_path=log_path,
        )

    async def _takes_connections(self) -> bool:
        return await takes_connections(self._zone.connect)


async def takes_connections(connect: Connect) -> bool:
    """Whether a server asks for a password; while it starts it sends an error instead."""
    words = f"user\0{USER}\0database\0{DATABASE}\0\0".encode()
    startup = struct.pack("!II", 8 + len(words), _PROTOCOL) + words
    try:
        sock = await connect(PORT, family="ipv4", timeout_s=5)
        reader, writer = await asyncio.open_connection(sock=sock)
    except OSError:
        return False
    try:
        writer.write(startup)
        return await asyncio.wait_for(reader.read(1), 5) == b"R"
    except (OSError, TimeoutError):
        return False
    finally:
        writer.transport.abort()
