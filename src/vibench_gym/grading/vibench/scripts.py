# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one script as a process group: drained all the time, ended step by step, never left behind.

A script whose time is up, or whose caller is cancelled, is interrupted (SIGINT): Python runs its
`finally` clauses then, in which ViBench's scripts take their project down. What does not end within
the grace is terminated, then killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vibench_gym.grading.teardown import close_shielded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

TERM_GRACE_S: Final = 15.0
_DRAIN_S: Final = 5.0
# A server in the background, or under nohup, ignores signals, and so would all that it starts.
_LAUNCH: Final = (
    "import os, signal, sys; "
    "kept = {signal.SIGKILL, signal.SIGSTOP}; "
    "[signal.signal(n, signal.SIG_DFL) for n in signal.valid_signals() - kept]; "
    "signal.pthread_sigmask(signal.SIG_SETMASK, ()); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """How a script ended."""

    code: int | None
    """Its exit code; None where it had to be ended."""
    output: str
    """What it printed, standard error with it: head and tail where it was much."""

    @property
    def timed_out(self) -> bool:
        """Whether its time was up."""
        return self.code is None


class Output:
    """The first and the last of what was printed, in bounded memory."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        """Keep what there is room for."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if (over := len(self._tail) - self._half) > 0:
            del self._tail[:over]
            self._cut += over

    def text(self) -> str:
        """What was kept, with a marker where something was cut."""
        marker = f"\n[... {self._cut} bytes cut ...]\n".encode() if self._cut else b""
        return bytes(self._head + marker + self._tail).decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Script:
    """One script to run."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    """Where it runs."""
    grace_s: float
    """How long it may take to clean up once it is interrupted."""
    output_bytes: int = 1024 * 1024
    on_start: Callable[[int], None] | None = None
    on_end: Callable[[int], None] | None = None

    async def run(self, timeout_s: float) -> ScriptResult:
        """Run to the end, or until the time is up; nothing of it runs afterwards.

        Raises:
            OSError: it cannot be started.
        """
        output = Output(self.output_bytes)
        async with _collected(output) as (writer, drained):
            try:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", "-c", _LAUNCH, *self.argv),
                    env=dict(self.environment),
                    cwd=self.folder,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=writer,
                    stderr=asyncio.subprocess.STDOUT,
                    start_new_session=True,
                )
            finally:
                os.close(writer)
            code = await self._wait(process, timeout_s)
            # Something that left the group may hold the pipe open for ever.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_S):
                    await drained.wait()
        return ScriptResult(code, output.text())

    async def _wait(self, process: asyncio.subprocess.Process, timeout_s: float) -> int | None:
        if self.on_start is not None:
            self.on_start(process.pid)
        try:
            async with asyncio.timeout(timeout_s):
                return await process.wait()
        except TimeoutError:
            return None
        finally:
            limit_s = self.grace_s + 3 * TERM_GRACE_S
            await close_shielded(self._end(process), limit_s=limit_s)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        for number, grace_s in (
            (signal.SIGINT, self.grace_s),
            (signal.SIGTERM, TERM_GRACE_S),
            (signal.SIGKILL, TERM_GRACE_S),
        ):
            if process.returncode is not None:
                break
            _signal_group(process.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await process.wait()
        # What the leader left running in its group: the number cannot be somebody else's yet.
        _signal_group(process.pid, signal.SIGKILL)
        if self.on_end is not None:
            self.on_end(process.pid)


class _Collector(asyncio.Protocol):
    """Reads a pipe into an output."""

    def __init__(self, output: Output, drained: asyncio.Event) -> None:
        self._output = output
        self._drained = drained

    def data_received(self, data: bytes) -> None:
        self._output.add(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._drained.set()


@contextlib.asynccontextmanager
async def _collected(output: Output) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """The writing end of a pipe that is read into `output`, and whether all of it was."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    drained = asyncio.Event()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: _Collector(output, drained), os.fdopen(reader, "rb", buffering=0)
    )
    try:
        yield writer, drained
    finally:
        transport.close()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
