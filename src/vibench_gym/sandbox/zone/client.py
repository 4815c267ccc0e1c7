# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The grader's end of a zone daemon: starts it, sends requests, receives events, ends it."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from typing import TYPE_CHECKING, Any

from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.sandbox.isolated_python import isolated_python
from vibench_gym.sandbox.zone.daemon.protocol import Decoder, ProtocolBroken, close_all, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

_START_TIMEOUT_S = 30.0
_ASK_TIMEOUT_S = 60.0
_TREE_TIMEOUT_S = 600.0
_TREE_OPERATIONS = ("import", "export")
_END_TIMEOUT_S = 5.0
_STDERR_BYTES = 4000


class ZoneRefused(SandboxUnavailable):
    """The zone daemon could not do what was requested; `errno` says why where the kernel did."""

    def __init__(self, message: str, errno: int | None) -> None:
        super().__init__(message)
        self.errno = errno


class ZoneClient:
    """One zone daemon process."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None
        self._decoder = Decoder()
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = {}
        self._exits: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._ready: asyncio.Future[dict[str, Any]] | None = None
        self._sending = asyncio.Lock()
        self._broken: str | None = None

    async def start(self, config: dict[str, Any], listener: socket.socket) -> dict[str, Any]:
        """Start the daemon and wait until its zone is ready.

        Raises:
            SandboxUnavailable: the daemon could not make the zone; the message says what failed.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._socket = ours
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        with theirs:
            number = str(theirs.fileno())
            self._process = await asyncio.create_subprocess_exec(
                *isolated_python("vibench_gym.sandbox.zone.daemon.main", number),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        loop.add_reader(ours, self._read)
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                await self._send(encode({**config, "parent": os.getpid()}, 1), [listener.fileno()])
                event = await self._ready
        except TimeoutError as error:
            raise SandboxUnavailable("the zone daemon does not start") from error
        if event["event"] != "ready":
            reason = event["error"] or await self._stderr_text()
            raise ZoneRefused(f"the zone could not be made: {reason}", event.get("errno"))
        return event

    async def request(
        self, operation: str, fds: Sequence[int] = (), **fields: object
    ) -> dict[str, Any]:
        """Ask and wait for the answer.

        Raises:
            ZoneRefused: the daemon could not do it.
            SandboxUnavailable: the daemon is gone or does not answer.
        """
        result, received = await self._exchange(operation, fds, fields)
        close_all(received)
        return result

    async def request_socket(self, operation: str, **fields: object) -> socket.socket:
        """Ask for a socket made in the zone's network namespace.

        Raises:
            ZoneRefused: the daemon could not make it.
            SandboxUnavailable: the daemon is gone or does not answer.
        """
        _result, received = await self._exchange(operation, (), fields)
        sock = socket.socket(fileno=received[0])
        sock.setblocking(False)
        return sock

    def expect_exit(self, box: str) -> asyncio.Future[dict[str, Any]]:
        """The future event of a box's end."""
        future = asyncio.get_running_loop().create_future()
        self._exits[box] = future
        if self._broken is not None:
            self._end_all_waits(self._broken)
        return future

    def forget_exit(self, box: str) -> None:
        """The box was never started."""
        self._exits.pop(box, None)

    async def close(self) -> None:
        """End the daemon and with it everything in its zone; bounded, safe to call twice."""
        process, sock = self._process, self._socket
        self._process = self._socket = None
        if sock is not None:
            asyncio.get_running_loop().remove_reader(sock)
            sock.close()
        self._end_all_waits("the zone is closed")
        self._decoder.close()
        if process is None:
            return
        try:
            async with asyncio.timeout(_END_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        if process.stderr is not None:
            await process.stderr.read(_STDERR_BYTES)

    async def _exchange(
        self, operation: str, fds: Sequence[int], fields: dict[str, object]
    ) -> tuple[dict[str, Any], list[int]]:
        if self._broken is not None:
            raise SandboxUnavailable(self._broken)
        number = next(self._numbers)
        try:
            data = encode({"id": number, "op": operation, **fields}, len(fds))
        except ValueError as error:
            raise ZoneRefused(str(error), None) from error
        future = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        try:
            async with asyncio.timeout(
                _TREE_TIMEOUT_S if operation in _TREE_OPERATIONS else _ASK_TIMEOUT_S
            ):
                await self._send(data, fds)
                message, received = await future
        except TimeoutError as error:
            raise SandboxUnavailable(f"the zone daemon does not answer {operation!r}") from error
        except OSError as error:
            raise SandboxUnavailable(f"the zone daemon is gone: {error}") from error
        finally:
            self._answers.pop(number, None)
        if "error" in message:
            raise ZoneRefused(f"{operation}: {message['error']}", message["errno"])
        return message["result"], received

    async def _send(self, data: bytes, fds: Sequence[int]) -> None:
        loop = asyncio.get_running_loop()
        async with self._sending:
            sock = self._socket
            if sock is None:
                raise SandboxUnavailable("the zone is closed")
            while fds:
                try:
                    data = data[socket.send_fds(sock, [data], list(fds)) :]
                    break
                except BlockingIOError:
                    await asyncio.sleep(0.005)
            await loop.sock_sendall(sock, data)

    def _read(self) -> None:
        try:
            alive = self._socket is not None and self._decoder.receive(self._socket)
            for message, fds in self._decoder.frames():
                self._dispatch(message, fds)
        except BlockingIOError:
            return
        except (OSError, ProtocolBroken) as error:
            self._break(f"the zone daemon's socket broke: {error}")
            return
        if not alive:
            self._break("the zone daemon is gone")

    def _dispatch(self, message: dict[str, Any], fds: list[int]) -> None:
        if "id" in message:
            answer = self._answers.get(message["id"])
            if answer is None or answer.done():
                close_all(fds)
            else:
                answer.set_result((message, fds))
        elif message["event"] == "exit":
            future = self._exits.pop(message["box"], None)
            if future is not None and not future.done():
                future.set_result(message)
        elif self._ready is not None and not self._ready.done():
            self._ready.set_result(message)

    def _break(self, reason: str) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
        self._end_all_waits(reason)

    def _end_all_waits(self, reason: str) -> None:
        """Nothing more will come: every wait gets an error or a lost box."""
        self._broken = self._broken or reason
        lost = {"code": 137, "killed": False, "failed": True, "reason": reason}
        for ended in self._exits.values():
            if not ended.done():
                ended.set_result(lost)
        self._exits.clear()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(SandboxUnavailable(reason))
        if self._ready is not None and not self._ready.done():
            self._ready.set_result({"event": "broken", "error": ""})

    async def _stderr_text(self) -> str:
        if self._process is None or self._process.stderr is None:
            return "the zone daemon ended"
        try:
            async with asyncio.timeout(1.0):
                data = await self._process.stderr.read(_STDERR_BYTES)
        except TimeoutError:
            data = b""
        return data.decode("utf-8", "replace").strip() or "the zone daemon ended without a word"
