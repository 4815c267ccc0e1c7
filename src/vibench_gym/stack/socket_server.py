# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Answering on a listening socket until left, and leaving no connection behind.

What asyncio's own server offers for that (`abort_clients`, 3.13) other event loops lack, and the
servers of NeMo Gym run on uvloop; so connections are kept here.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

CLOSE_TIMEOUT_S = 5.0
_LINE_BYTES = 64 * 1024


@contextlib.asynccontextmanager
async def serving(
    handler: Handler, listener: socket.socket | None = None, *, limit: int = _LINE_BYTES
) -> AsyncIterator[asyncio.Server]:
    """Answer each connection with `handler`; on leaving, those that are open are ended.

    Without a listener, on any free port of this host's loopback.

    Raises:
        OSError: the socket cannot be listened on.
    """
    tasks: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        try:
            await handler(reader, writer)
        except asyncio.CancelledError:
            pass  # we leave; the connection ends with its handler
        finally:
            writer.transport.abort()

    if listener is not None and listener.family == socket.AF_UNIX:
        server = await asyncio.start_unix_server(answer, sock=listener, limit=limit)
    elif listener is not None:
        server = await asyncio.start_server(answer, sock=listener, limit=limit)
    else:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=limit)
    try:
        yield server
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_TIMEOUT_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), timeout=CLOSE_TIMEOUT_S)
