# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The app's own PostgreSQL, the same on every stack: its address, its settings, whether it is up.

The app's database user is a superuser, as the benchmark has it, so the app can run programs where
its database runs: there must be nothing but PostgreSQL's binaries and its data directory.
Durability is off: a cluster never outlives its stack's memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import TYPE_CHECKING

from vibench_gym.core.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vibench_gym.stack.readiness import Connect

PORT = 5432
DATABASE = "appdb"
USER = "appuser"
PASSWORD = "apppassword"  # noqa: S105 (no secret: it opens nothing outside the app's own zone)
URL = f"postgresql://{USER}:{PASSWORD}@localhost:{PORT}/{DATABASE}"
START_TIMEOUT_S = 60.0
INITDB_OPTIONS = (
    f"-U {USER} --auth-local=trust --auth-host=scram-sha-256 --no-sync --encoding=UTF8"
    " --locale=C.UTF-8 --wal-segsize=1"
)
CREATE_DATABASE = f"create database {DATABASE} owner {USER};"
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


class PostgresNotStarted(Exception):
    """The server ended, or does not work; the message holds its last words."""


@contextlib.contextmanager
def failure_is_ours() -> Iterator[None]:
    """Around a start on the template: no app had a hand in it, so it is not the app that fails.

    Raises:
        DatabaseUnavailable: PostgreSQL does not start.
    """
    try:
        yield
    except PostgresNotStarted as error:
        raise DatabaseUnavailable(str(error)) from error


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
