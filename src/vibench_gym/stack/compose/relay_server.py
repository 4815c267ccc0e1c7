# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The relay's server: the only way into and out of a stack's network, alone in its container.

Standard library only, any Python from 3.8 on: it is copied into a container of any image. On
its Unix socket it takes one line per connection:

    connect 4 8000     answered `ok`, then the connection is one to that port of loopback (4 or 6);
                       `error ERRNO` where nothing listens
    state              answered with a line of JSON: ports listened on, bytes used in the volumes

Each argument is a port of loopback; connections to it are carried out to a socket of the grader's.
What comes through is passed on unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import json
import os
import sys

FOLDER = "/run/vibench-gym"
SOCKET = "relay.sock"
STATE = "/state"
_HOSTS = {b"4": "127.0.0.1", b"6": "::1"}
_CHUNK = 65536
_LISTEN = "0A"
_CONNECT_S = 10


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()


async def _join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    other: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    try:
        await asyncio.gather(_pump(one[0], other[1]), _pump(other[0], one[1]))
    finally:
        one[1].transport.abort()
        other[1].transport.abort()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ValueError):
        words = (await reader.readline()).split()
        if words[:1] == [b"state"]:
            writer.write(json.dumps({"ports": _ports(), "bytes": _used()}).encode() + b"\n")
            await writer.drain()
        elif words[:1] == [b"connect"]:
            connecting = asyncio.open_connection(_HOSTS[words[1]], int(words[2]))
            try:
                other = await asyncio.wait_for(connecting, _CONNECT_S)
            except asyncio.TimeoutError:  # noqa: UP041 (another class before 3.11)
                writer.write(b"error %d\n" % errno.ETIMEDOUT)
            except OSError as error:
                writer.write(b"error %d\n" % (error.errno or errno.ECONNREFUSED))
            else:
                writer.write(b"ok\n")
                await _join((reader, writer), other)
    writer.close()


def outward_socket(port: int | str) -> str:
    """Name of the grader's socket for a port of the containers' loopback."""
    return f"out-{port}.sock"


async def _carry_out(port: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        other = await asyncio.open_unix_connection(f"{FOLDER}/{outward_socket(port)}")
    except OSError:
        writer.transport.abort()
        return
    await _join((reader, writer), other)


def _ports() -> list[int]:
    found = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}") as file:  # noqa: PTH123
            for line in file.read().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    found.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(found)


def _used() -> int:
    total = 0
    for name in os.listdir(STATE):  # noqa: PTH208
        space = os.statvfs(f"{STATE}/{name}")
        total += (space.f_blocks - space.f_bfree) * space.f_frsize
    return total


async def main() -> None:
    """Relay until killed."""
    os.umask(0)
    path = f"{FOLDER}/{SOCKET}"
    async with contextlib.AsyncExitStack() as servers:
        inward = await asyncio.start_unix_server(_serve, path + ".new")
        await servers.enter_async_context(inward)
        for port in sys.argv[1:]:
            answer = functools.partial(_carry_out, port)
            outward = await asyncio.start_server(answer, "127.0.0.1", int(port))
            await servers.enter_async_context(outward)
        os.rename(path + ".new", path)  # noqa: PTH104 (nobody finds it before it answers)
        await inward.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
