# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A set-up that something outside failed for a moment is run again; so is one that made it stumble.

What the second run comes to counts, so that nothing is gained by making one doubtful.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from vibench_gym.core.errors import AppSetupFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
    from vibench_gym.stack.base import SetupReport


class SetUpAttempt(Protocol):
    """One run of a set-up script, with what it leaves."""

    needs_retry: bool
    """Something that is not the app's came between: another run may come to another end."""
    work: WorkFolder | None
    """Holds the snapshot, as soon as there is one."""

    async def run(self, app_dir: Path, log_path: Path | None) -> tuple[SetupReport, WorkFolder]:
        """Run it on a copy of the app."""
        ...


async def set_up(
    new: Callable[[], SetUpAttempt], app_dir: Path, log_path: Path | None
) -> tuple[SetupReport, WorkFolder]:
    """Run set-up, twice at most; after an error nothing of it is left.

    Raises:
        what `SetUpAttempt.run` raises.
    """
    one = new()
    try:
        done = await _undoubted(one, app_dir, log_path)
        if done is None:
            await _discard(one)
            one = new()
            done = await one.run(app_dir, log_path)
    except BaseException:
        await _discard(one)
        raise
    return done


async def _undoubted(
    one: SetUpAttempt, app_dir: Path, log_path: Path | None
) -> tuple[SetupReport, WorkFolder] | None:
    try:
        done = await one.run(app_dir, log_path)
    except AppSetupFailed:
        if one.needs_retry:
            return None
        raise
    return None if one.needs_retry else done


async def _discard(one: SetUpAttempt) -> None:
    if one.work is not None:
        await asyncio.shield(asyncio.to_thread(one.work.remove))
