# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Runs set-up a second time when something outside may have failed the first.

The second result counts, so that a script gains nothing by provoking a second run.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from vibench_gym.core.errors import AppSetupFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
    from vibench_gym.stack.base import SetupReport


class SetUpAttempt(Protocol):
    """One run of a set-up script, with what it leaves."""

    needs_retry: bool
    """Something that is not the app's came between: another run may end differently."""
    work: WorkFolder | None
    """Holds the snapshot, as soon as there is one."""

    async def run(self) -> tuple[SetupReport, WorkFolder]:
        """Run it on a copy of the app."""
        ...


async def set_up(new_attempt: Callable[[], SetUpAttempt]) -> tuple[SetupReport, WorkFolder]:
    """Run set-up, twice at most; after an error nothing of it is left.

    Raises:
        what `SetUpAttempt.run` raises.
    """
    attempt = new_attempt()
    try:
        result = await _result_unless_retry(attempt)
        if result is None:
            await _discard(attempt)
            attempt = new_attempt()
            result = await attempt.run()
    except BaseException:
        await _discard(attempt)
        raise
    return result


async def _result_unless_retry(attempt: SetUpAttempt) -> tuple[SetupReport, WorkFolder] | None:
    try:
        result = await attempt.run()
    except AppSetupFailed:
        if attempt.needs_retry:
            return None
        raise
    return None if attempt.needs_retry else result


async def _discard(attempt: SetUpAttempt) -> None:
    if attempt.work is not None:
        await asyncio.shield(asyncio.to_thread(attempt.work.remove))
