# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A stack's files into and out of its containers, as tar streams made where nobody else runs.

A snapshot is one tar file of app, virtualenv, home and database. It is never unpacked on the host:
it is written and read by the tar of the trusted container. The one archive that is looked into here
is that of `/seeding`, member by member, and only its regular files.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tarfile
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Final

from vibench_gym.core.config import MIB
from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.sandbox.zone.box import StateLimitReached
from vibench_gym.stack.compose.engine import end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.stack.compose.project import Project, Service

SNAPSHOT: Final = "state.tar"
FOLDERS: Final = "app venv home data"
_TRANSFER_S: Final = 300.0
_SEED_S: Final = 60.0
_WATCH_S: Final = 0.1
_ERROR_BYTES: Final = 4096
_RESTORE: Final = f"exec tar -C /state -xpf /snapshot/{SNAPSHOT} --numeric-owner --same-owner"
_PLACE_APP: Final = """
cp -R --preserve=mode,timestamps,links /artifact/. /state/app/ && chown -hR 1000:1000 /state/app
"""
_SAVE: Final = f"exec tar -C /state -cf - --sparse --numeric-owner --exclude data/start {FOLDERS}"
_START_DATABASE: Final = "touch /state/data/start"
_READ_SEED: Final = "exec tar -C /state/seeding -cf - --sparse ."
_WRITE_SEED: Final = "exec tar -C /seeding -xf - --no-same-owner"
_CLEAR_SEED: Final = "find /state/seeding -mindepth 1 -delete"


@dataclass(frozen=True, slots=True)
class Done:
    """What a transfer came to."""

    return_code: int
    errors: str


async def restore(project: Project) -> None:
    """Fill the state from the snapshot.

    Raises:
        SandboxUnavailable: it does not come out as it went in.
    """
    await _must(project, _RESTORE, "the snapshot cannot be unpacked")


async def place_app(project: Project) -> None:
    """Copy the artifact to `/app`.

    Raises:
        StateLimitReached: it does not fit.
        SandboxUnavailable: it cannot be copied.
    """
    await _must(project, _PLACE_APP, "the app cannot be copied")


async def let_database_start(project: Project) -> None:
    """Have the database started on what is in the state.

    Raises:
        SandboxUnavailable: the trusted container is gone.
    """
    await _must(project, _START_DATABASE, "the database cannot be started")


async def save(project: Project, folder: Path) -> None:
    """Write the state as a snapshot to a folder; nothing may be running in the other containers.

    Raises:
        StateLimitReached: it is larger than `state_bytes`.
        SandboxUnavailable: something in it cannot be copied.
    """
    limit = project.config.state_bytes + 64 * MIB
    with (folder / SNAPSHOT).open("wb") as file:
        done = await _transfer(project, "net", _SAVE, target=file, limit=limit)
    if done.return_code != 0:
        raise SandboxUnavailable(f"the state cannot be copied: {done.errors}")


async def write_seed(project: Project, files: Mapping[str, bytes]) -> None:
    """Replace what is at `/seeding`, owned by the app's user.

    Raises:
        StateLimitReached: there is no room.
        SandboxUnavailable: it cannot be written.
    """
    await _must(project, _CLEAR_SEED, "the old seed cannot be removed")
    if not files:
        return
    packed = await asyncio.to_thread(_packed, files)
    done = await _transfer(project, "shell", _WRITE_SEED, input_bytes=packed, timeout_s=_SEED_S)
    _raise_if_failed(done, "the seed cannot be written")


async def read_seed(project: Project, *, max_files: int, max_bytes: int) -> dict[str, bytes]:
    """The regular files at `/seeding`.

    Raises:
        StateLimitReached: there are more than that.
        SandboxUnavailable: they cannot be read.
    """
    target = project.work / "seed.tar"
    limit = max_bytes + max_files * 2048 + MIB
    try:
        with target.open("wb") as file:
            done = await _transfer(
                project, "net", _READ_SEED, target=file, limit=limit, timeout_s=_SEED_S
            )
        if done.return_code != 0:
            raise SandboxUnavailable(f"the seed cannot be read: {done.errors}")
        return await asyncio.to_thread(_unpacked, target, max_files, max_bytes)
    finally:
        target.unlink(missing_ok=True)


def _packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _unpacked(path: Path, max_files: int, max_bytes: int) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = max_bytes
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if not member.isreg() or name.is_absolute() or ".." in name.parts:
                    continue
                left -= member.size
                if left < 0 or len(files) >= max_files:
                    raise StateLimitReached(f"more than {max_files} files or {max_bytes} bytes")
                with contextlib.suppress(UnicodeEncodeError):
                    name.as_posix().encode()
                    stream = archive.extractfile(member)
                    files[name.as_posix()] = stream.read() if stream is not None else b""
    except tarfile.TarError as error:
        raise SandboxUnavailable(f"the seed cannot be read: {error}") from error
    return files


async def _must(project: Project, command: str, what: str) -> None:
    _raise_if_failed(await _transfer(project, "net", command), what)


def _raise_if_failed(done: Done, what: str) -> None:
    if done.return_code == 0:
        return
    full = any(sign in done.errors for sign in ("No space left", "File too large"))
    raise (StateLimitReached if full else SandboxUnavailable)(f"{what}: {done.errors}")


async def _transfer(
    project: Project,
    service: Service,
    command: str,
    *,
    input_bytes: bytes = b"",
    target: IO[bytes] | None = None,
    limit: int = MIB,
    timeout_s: float = _TRANSFER_S,
) -> Done:
    """Run a command whose output goes to a file, which it may fill up to a limit."""
    process = await asyncio.create_subprocess_exec(
        *project.engine.command("exec", "-i", project.container(service), "sh", "-c", command),
        stdin=asyncio.subprocess.PIPE,
        stdout=target if target is not None else asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=dict(project.engine.env),
        start_new_session=True,
    )
    talking = asyncio.create_task(process.communicate(input_bytes))
    try:
        async with asyncio.timeout(timeout_s):
            while not talking.done():
                await asyncio.wait({talking}, timeout=_WATCH_S)
                if target is not None and os.fstat(target.fileno()).st_size > limit:
                    raise StateLimitReached(f"more than {limit} bytes")
        _, errors = await talking
    except TimeoutError:
        return Done(125, f"no end in {timeout_s:g} s")
    finally:
        talking.cancel()
        await end(process)
    return Done(process.returncode or 0, errors.decode("utf-8", "replace")[-_ERROR_BYTES:].strip())
