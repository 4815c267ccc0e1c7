# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The `Sandbox` contract on a zone of its own: files persist between commands, processes do not."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Self

from vibench_gym.core.config import ProcessLimits
from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.sandbox.zone.box import Bind, BoxSpec
from vibench_gym.sandbox.zone.uids import UidLease
from vibench_gym.sandbox.zone.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from vibench_gym.sandbox.base import ExecResult

STATE_BYTES = 4 * 1024 * 1024 * 1024
_FOLDERS = {"/app": "app", "/home/app": "home", "/tmp": "tmp"}  # noqa: S108  paths in the box
_MAX_FILE = 1024 * 1024 * 1024
_CHANGE_FOLDER = 'cd -- "$0" && exec "$@"'


class BubblewrapSandbox:
    """A box with `/app`, `/home/app` and `/tmp`, and no network but its own loopback.

    Use it as an async context manager, or call `open` and `close`.
    """

    def __init__(
        self,
        *,
        limits: ProcessLimits | None = None,
        state_bytes: int = STATE_BYTES,
        binds: Sequence[Bind] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._limits = limits or ProcessLimits()
        self._state_bytes = state_bytes
        self._env = dict(env or {})
        folders = (Bind(target, state=name, writable=True) for target, name in _FOLDERS.items())
        self._binds = (*folders, *binds)
        self._uids: UidLease | None = None
        self._zone: Zone | None = None

    async def open(self) -> Self:
        """Make the box.

        Raises:
            SandboxUnavailable: it cannot be made here.
        """
        self._uids = await asyncio.to_thread(UidLease.acquire)
        zone = Zone(snapshot=None, state_bytes=self._state_bytes, uids=self._uids, name="sandbox")
        try:
            self._zone = await zone.__aenter__()
        except BaseException:
            self._uids.release()
            raise
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout_s: float = 180.0,
    ) -> ExecResult:
        """Run a command (a string goes through `bash -c`); all it started is dead afterwards.

        Raises:
            SandboxUnavailable: the box itself broke.
        """
        argv = ("/bin/bash", "-c", command) if isinstance(command, str) else tuple(command)
        spec = BoxSpec(
            # A folder that is not there is the command's failure, not the box's.
            argv=("/bin/bash", "-c", _CHANGE_FOLDER, cwd or "/app", *argv),
            user="app",
            env={**self._env, **(env or {})},
            binds=self._binds,
            limits=self._limits,
        )
        return await self._open_zone().run(spec, stdin=stdin, timeout_s=timeout_s)

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy one regular file of the host to a path below /app, /home/app or /tmp.

        Raises:
            FileNotFoundError: `source` is not a regular file.
            SandboxUnavailable: it could not be written.
            ValueError: `target` is elsewhere.
        """
        folder, path = _place(target)
        data, mode = await asyncio.to_thread(_read_source, source)
        await self._open_zone().put_files(folder, {path: data}, mode=mode)

    async def download_file(self, source: str, target: Path) -> None:
        """Copy one regular file from below /app, /home/app or /tmp; links are not followed.

        Raises:
            FileNotFoundError: there is no such regular file.
            SandboxUnavailable: the box itself broke.
            StateLimitReached: it is too large.
            ValueError: `source` is elsewhere.
        """
        folder, path = _place(source)
        await self._open_zone().get_file(folder, path, target, max_bytes=_MAX_FILE)

    async def close(self) -> None:
        """End everything in the box and remove it; safe to call twice."""
        zone, self._zone = self._zone, None
        try:
            if zone is not None:
                await zone.close()
        finally:
            if self._uids is not None:
                self._uids.release()

    def _open_zone(self) -> Zone:
        if self._zone is None:
            raise SandboxUnavailable("the sandbox is not open")
        return self._zone


def _place(path: str) -> tuple[str, str]:
    pure = PurePosixPath(path)
    if ".." not in pure.parts:
        for target, folder in _FOLDERS.items():
            if pure != PurePosixPath(target) and pure.is_relative_to(target):
                return folder, str(pure.relative_to(target))
    raise ValueError(f"not a file below {', '.join(_FOLDERS)}: {path!r}")


def _read_source(source: Path) -> tuple[bytes, int]:
    if not source.is_file():
        raise FileNotFoundError(f"not a regular file: {source}")
    return source.read_bytes(), 0o755 if os.access(source, os.X_OK) else 0o644
