# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Lets the host connect to ports of a build box. The box cannot reach the host by them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    from vibench_gym.gym.box.build_zone import BuildZone

IDLE_S = 600.0
_CHUNK = 64 * 1024


class BoxEndpoints:
    """One listening port of this host's loopback for each port of the box that is asked for."""

    def __init__(self, zone: BuildZone) -> None:
        self._zone = zone
        self._servers: dict[int, asyncio.Server] = {}
        self._open = contextlib.AsyncExitStack()

    async def open(self, port: int) -> int:
        """The host's port that leads to the box's.

        Raises:
            OSError: no port can be opened.
        """
        server = self._servers.get(port)
        if server is None:

            async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._relay(port, reader, writer)

            server = await self._open.enter_async_context(serving(relay))
            self._servers[port] = server
        found: int = server.sockets[0].getsockname()[1]
        return found

    async def _relay(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            inner = await asyncio.open_connection(sock=await self._zone.connect(port))
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_pump(reader, inner[1]))
                    group.create_task(_pump(inner[0], writer))
            finally:
                inner[1].transport.abort()

    async def close(self) -> None:
        """Close them all."""
        self._servers.clear()
        await self._open.aclose()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        while data := await asyncio.wait_for(reader.read(_CHUNK), IDLE_S):
            writer.write(data)
            await asyncio.wait_for(writer.drain(), IDLE_S)
    if writer.can_write_eof():
        with contextlib.suppress(OSError):
            writer.write_eof()
