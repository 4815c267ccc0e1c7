# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Commands in containers: short ones with a result, and the app's server.

The command and what is added to its environment go in over standard input, never as arguments,
which every user of the host can read. When a command ends, all that it started ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.sandbox.exec_result import ExecResult
from vibench_gym.sandbox.zone.daemon.bounded_log import BoundedLog
from vibench_gym.stack.compose.engine import MAX_OUTPUT_BYTES, end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.stack.compose.project import Project, Service

TIMEOUT_CODE: Final = 125
KILLED_CODE: Final = 137
_CHUNK: Final = 65536
_FLUSH_S: Final = 1.0
_SIGNAL_TIMEOUT_S: Final = 10.0
# Only this command runs in the container, so all processes there may be killed at its end. BASH is
# the shell's own path: the app may have another bash in front in PATH.
_WRAPPER: Final = r"""
IFS= read -r -d '' command
while IFS= read -r -d '' pair; do export "$pair"; done
export PATH="/venv/bin:/home/app/.local/bin:$PATH"
"$BASH" -c "$command" </dev/null
code=$?
kill -KILL -1 2>/dev/null
exit $code
"""
_ENGINE_ERRORS: Final = ("Error response from daemon", "OCI runtime exec failed", "cannot exec in")


def _call(project: Project, service: Service) -> tuple[str, ...]:
    container = project.container(service)
    return project.engine.command("exec", "--interactive", container, "bash", "-c", _WRAPPER)


def _input(command: str, env: Mapping[str, str]) -> bytes:
    pairs = (f"{name}={value}" for name, value in env.items() if "\0" not in value)
    words = (command.replace("\0", ""), *pairs)
    return "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape")


async def _start(project: Project, service: Service, *, merged: bool) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *_call(project, service),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
            env=dict(project.engine.env),
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailable(f"the docker command cannot be started: {error}") from error


async def _send(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 (a pipe was asked for)
    with contextlib.suppress(OSError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def run(
    project: Project,
    command: str,
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    service: Service = "shell",
) -> ExecResult:
    """Run a shell command in `/app`; its failure is a result.

    Raises:
        SandboxUnavailable: the engine is gone.
    """
    started = time.monotonic()
    process = await _start(project, service, merged=False)
    outputs = (bytearray(), bytearray())
    code, timed_out = TIMEOUT_CODE, False
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(
                _send(process, _input(command, env or {})),
                _keep(process.stdout, outputs[0]),
                _keep(process.stderr, outputs[1]),
            )
            code = await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        ended_itself = process.returncode is not None
        await end(process)
        if not ended_itself:
            await asyncio.shield(kill_everything(project, service))
    stdout, stderr = (bytes(output).decode("utf-8", "replace") for output in outputs)
    gone = code != 0 and stderr.startswith(_ENGINE_ERRORS)
    if gone:
        await project.ensure_running(service)
    return ExecResult(
        stdout=stdout,
        stderr=stderr,
        return_code=KILLED_CODE if gone else code if code >= 0 else 128 - code,
        error_type="timeout" if timed_out else "killed" if gone else None,
        duration_s=time.monotonic() - started,
    )


async def kill_everything(project: Project, service: Service) -> None:
    """Kill all processes in a container but its first, which starts anew if it must.

    Raises:
        SandboxUnavailable: the engine is gone.
    """
    killed = await project.engine.call(
        "exec", project.container(service), "sh", "-c", "kill -KILL -1; exit 0",
        timeout_s=_SIGNAL_TIMEOUT_S,
    )  # fmt: skip
    if killed.return_code != 0:  # full of processes, or gone
        await project.restart(service)


async def _keep(stream: asyncio.StreamReader | None, kept: bytearray) -> None:
    while stream is not None and (data := await stream.read(_CHUNK)):
        kept += data[: max(0, MAX_OUTPUT_BYTES - len(kept))]


class ContainerProcess:
    """A script of the app's that runs until it ends or is ended; its output goes to a file."""

    def __init__(self, project: Project, process: asyncio.subprocess.Process, log: Path) -> None:
        self._project = project
        self._process = process
        self._log_path = log
        limit = project.config.app.output_bytes
        fd = os.open(log, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._log = BoundedLog(fd, limit)
        self._killed = False
        self._code: int | None = None
        self._following = asyncio.create_task(self._follow())

    @classmethod
    async def start(
        cls, project: Project, command: str, *, env: Mapping[str, str], log: Path
    ) -> ContainerProcess:
        """Start it in the app's container.

        Raises:
            SandboxUnavailable: the engine is gone.
        """
        await project.ensure_running("app")  # the app may have ended its container before
        process = await _start(project, "app", merged=True)
        await _send(process, _input(command, env))
        return cls(project, process, log)

    @property
    def returncode(self) -> int | None:
        """Exit code, None while it runs."""
        return self._code

    @property
    def killed(self) -> bool:
        """Whether a process of it was killed for want of memory."""
        return self._killed

    @property
    def killed_unasked(self) -> bool:
        """Never: a kill from outside looks like one of the app's own.

        All of a container's processes share a user, and the exit code is one that the app's script
        may choose. To believe it would give an app that ends with 137 another attempt.
        """
        return False

    async def wait(self, timeout_s: float | None = None) -> int:
        """Wait for its end; TimeoutError if that takes longer."""
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(self._following)
        return self._code if self._code is not None else KILLED_CODE

    async def terminate(self, grace_s: float = 3.0) -> int:
        """Ask everything in the container to end, then kill it."""
        if self._code is None:
            await self._project.engine.call(
                "exec", self._project.container("app"), "sh", "-c", "kill -TERM -1; exit 0",
                timeout_s=_SIGNAL_TIMEOUT_S,
            )  # fmt: skip
            with contextlib.suppress(TimeoutError):
                await self.wait(grace_s)
        return await self.kill()

    async def kill(self) -> int:
        """Kill everything in the container."""
        await kill_everything(self._project, "app")
        try:
            return await self.wait(_SIGNAL_TIMEOUT_S)
        except TimeoutError:
            await end(self._process)
            return await self.wait()

    async def output_tail(self, limit: int = 4000) -> str:
        """Its last words."""
        self._log.flush()
        with self._log_path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 4 * limit))
            return file.read().decode("utf-8", "replace")[-limit:]

    async def _follow(self) -> None:
        stream = self._process.stdout
        assert stream is not None  # noqa: S101 (a pipe was asked for)
        try:
            flushed = time.monotonic()
            while data := await stream.read(_CHUNK):
                self._log.feed(data)
                if time.monotonic() - flushed >= _FLUSH_S:
                    self._log.flush()
                    flushed = time.monotonic()
            code = await self._process.wait()
            if code == KILLED_CODE:
                self._killed = await self._project.out_of_memory("app")
            self._code = code if code >= 0 else 128 - code
        finally:
            self._log.flush()
            await end(self._process)

    async def forget(self) -> None:
        """Let go of the client; what runs in the container goes with the container."""
        self._following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._following
        self._log.close()
