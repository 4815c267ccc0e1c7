# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One run of `setup-environment.sh`, and the snapshot of what it left.

Whatever it does (fails, hangs, fills its space, leaves a tree that cannot be copied) is the app's
fault; only what also happens to the template, without the app, is ours. So is a registry that
failed it and fails us, too: then not even a set-up that ended well is one, for scripts often go on
without the packages they asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING

from vibench_gym.core.errors import (
    AppSetupFailed,
    DatabaseUnavailable,
    SandboxUnavailable,
)
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.zone.zone import StateLimitReached, UidLease, Zone
from vibench_gym.stack.app_model import app_model_route
from vibench_gym.stack.base import SetupReport
from vibench_gym.stack.local.boxes import SETUP_SCRIPT, START_SCRIPT, AppBoxes
from vibench_gym.stack.postgres import Database, PostgresNotStarted
from vibench_gym.stack.registry.mirror import MIRROR_PORT, Mirror
from vibench_gym.stack.registry.upstream import Upstream
from vibench_gym.stack.snapshots import snapshot_folder

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator
    from pathlib import Path

    from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
    from vibench_gym.sandbox.zone.zone import Box
    from vibench_gym.stack.host import Host

TAIL_CHARS = 4000
PAGE = 4096
ENTRY_BYTES = 8192
"""A zone's state has an inode for so many bytes."""
STATE = "state"
"""The snapshot's folder in its work folder."""


class SetUp:
    """One run of an app's set-up."""

    def __init__(self, host: Host, boxes: AppBoxes, uids: UidLease) -> None:
        self._host = host
        self._boxes = boxes
        self._config = boxes.config
        self._uids = uids
        self._mirror: Mirror | None = None
        self.work: WorkFolder | None = None
        """Holds the snapshot, as soon as there is one."""
        self.needs_retry = False
        """A registry failed the script, and works now; or somebody outside killed the database; or
        there is room again for what could not be copied: another run may come to another end."""

    async def run(self, app_dir: Path, log_path: Path | None) -> tuple[SetupReport, WorkFolder]:
        """Run it on a copy of the app; the snapshot is in the folder `STATE` of the work folder.

        Raises:
            AppSetupFailed: it failed, hung, or used more than it may.
            DatabaseUnavailable: PostgreSQL does not start from the template.
            RegistryUnavailable: a registry failed it, and fails us, too.
            SandboxUnavailable: the zone cannot be made or its files cannot be kept.
        """
        for script in (SETUP_SCRIPT, START_SCRIPT):
            if not (app_dir / script).is_file():
                raise AppSetupFailed(f"the app has no {script}")
        async with self._new_zone("setup") as zone:
            await self._place_files(zone, app_dir)
            database = Database(zone, self._host.toolchain.postgres, self._config.database)
            try:
                await database.start()
            except PostgresNotStarted as error:
                raise DatabaseUnavailable(str(error)) from error
            try:
                async with self._egress(zone), app_model_route(zone, self._config.app_model):
                    report = await self._script(zone, log_path)
            finally:
                self.needs_retry |= database.external_kill is not None
            await database.stop()
            work = await self._export(zone)
        return report, work

    async def _export(self, zone: Zone) -> WorkFolder:
        size = (await zone.usage()).state_bytes
        self.work = await asyncio.to_thread(snapshot_folder, size)
        try:
            await zone.export_state(self.work.path / STATE)
        except StateLimitReached as error:
            raise AppSetupFailed(f"set-up left too much behind: {error}") from error
        except SandboxUnavailable as error:
            # A tree too deep to copy is the app's doing; a full disk is ours. Ask for the same room
            # in the same place, and copy the template there.
            await asyncio.to_thread(remove_tree, self.work.path / STATE)
            try:
                await asyncio.to_thread(_take_room, self.work.path, size)
            except OSError as full:
                raise SandboxUnavailable(
                    f"no room for a snapshot of {size} bytes: {full}"
                ) from full
            async with self._new_zone("control") as control:
                await control.import_tree(self._host.template / "venv", "venv", "app")
                await control.export_state(self.work.path / "control")
            self.needs_retry = True  # a disk that was full for a moment looks the same
            raise AppSetupFailed(f"what set-up left cannot be copied: {error}") from error
        return self.work

    def _new_zone(self, name: str) -> Zone:
        return Zone(snapshot=None, state_bytes=self._config.state_bytes, uids=self._uids, name=name)

    async def _place_files(self, zone: Zone, app_dir: Path) -> None:
        template = self._host.template
        await zone.import_tree(template / "venv", "venv", "app")
        await zone.import_tree(template / "home", "home", "app")
        await zone.import_tree(template / "database", "database", "database")
        needed = await asyncio.to_thread(_allocated_bytes, app_dir)
        free = self._config.state_bytes - (await zone.usage()).state_bytes
        if needed > free:
            raise AppSetupFailed(
                f"the app does not fit its space: it takes {needed} bytes, {free} are left"
            )
        await zone.import_tree(app_dir, "app", "app")

    @contextlib.asynccontextmanager
    async def _egress(self, zone: Zone) -> AsyncIterator[None]:
        registries = self._host.registries
        if registries is None or self._config.egress == "none":
            yield
            return
        async with Upstream(self._host.cache / "mirror") as upstream:
            self._mirror = Mirror(
                registries,
                upstream,
                egress=self._config.egress,
                extra_hosts=frozenset(self._config.extra_registry_hosts),
            )
            try:
                async with self._mirror.serving_set_up(await self._listener(zone)):
                    yield
            finally:
                self.needs_retry |= self._mirror.stumbled

    async def _listener(self, zone: Zone) -> socket.socket:
        """The mirror's socket; the zone is new, so nothing of the app's can be in its way."""
        try:
            return await zone.listen(MIRROR_PORT)
        except OSError as error:
            raise SandboxUnavailable(f"the mirror cannot listen: {error}") from error

    async def _script(self, zone: Zone, log_path: Path | None) -> SetupReport:
        env = self._mirror.env if self._mirror is not None else {}
        spec = self._boxes.app("/usr/bin/bash", SETUP_SCRIPT, env=env, log_path=log_path)
        start = time.perf_counter()
        box = await zone.spawn(spec)
        limit = self._config.setup_timeout_s
        try:
            code = await box.wait(limit)
        except TimeoutError:
            await box.kill()
            text = f"{SETUP_SCRIPT} did not end within {limit:g} s"
            raise await self._failure(zone, box, text) from None
        self.needs_retry |= box.killed_unasked
        if code != 0:
            why = " (it used more than it may)" if box.killed else ""
            raise await self._failure(zone, box, f"{SETUP_SCRIPT} ended with exit code {code}{why}")
        toolchain = self._host.toolchain
        return SetupReport(
            duration_s=time.perf_counter() - start,
            return_code=code,
            log_tail=await box.output_tail(TAIL_CHARS),
            python_version=toolchain.python.version,
            node_version=toolchain.node.version,
            blocked_hosts=self._mirror.blocked_hosts if self._mirror is not None else {},
        )

    async def _failure(self, zone: Zone, box: Box, text: str) -> AppSetupFailed:
        blocked = self._mirror.blocked_hosts if self._mirror is not None else {}
        if blocked:
            text += f"; hosts it was refused: {', '.join(list(blocked)[:10])}"
        crlf = self._boxes.app("/usr/bin/grep", "-q", "-m1", "-U", "\r$", SETUP_SCRIPT)
        if (await zone.run(crlf, timeout_s=5)).return_code == 0:
            text += f"; {SETUP_SCRIPT} has CRLF line endings, which bash takes as part of commands"
        tail = (await box.output_tail(TAIL_CHARS)).strip()
        return AppSetupFailed(f"{text}. Last output: {tail[-2000:] or '(none)'}")


def _allocated_bytes(folder: Path) -> int:
    """What a tree takes in the zone's memory: whole pages, and something for each entry."""
    total = 0
    for _, folders, files, handle in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            size = os.stat(name, dir_fd=handle, follow_symlinks=False).st_blocks * 512
            total += -(-size // PAGE) * PAGE + ENTRY_BYTES
    return total


def _take_room(folder: Path, size: int) -> None:
    """Whether a file system still takes so many bytes.

    Raises:
        OSError: it does not.
    """
    ballast = folder / "ballast"
    with ballast.open("xb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        finally:
            ballast.unlink()
