# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Launches and teardowns that a cancelled caller cannot interrupt.

A browser or a stack that is left half open keeps processes and folders on the host. So a launch is
never cancelled half way, and a teardown always runs to its end, within a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import GraderFault, VibenchGymError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from vibench_gym.browser.base import Browser

TEARDOWN_LIMIT_S: Final = 60.0


async def launch_shielded(launching: Awaitable[Browser]) -> Browser:
    """The browser that is being launched; one that comes up for a cancelled caller is closed.

    A launch that is cancelled half way leaves the driver's process behind, so it never is.
    """
    task = asyncio.ensure_future(launching)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await close_shielded(_close_when_open(task))
        raise


async def _close_when_open(task: asyncio.Future[Browser]) -> None:
    with contextlib.suppress(VibenchGymError):  # the caller is gone: nobody can be told
        await (await task).close()


def ignore_fault(_message: str) -> None:
    """For a teardown that says nothing about the app; the janitor removes what it leaves."""


async def close_shielded(
    closing: Awaitable[object],
    on_error: Callable[[str], None] = ignore_fault,
    limit_s: float = TEARDOWN_LIMIT_S,
) -> None:
    """Carry a teardown to its end, even when the caller is cancelled meanwhile, within a limit.

    A teardown that fails changes no verdict: its fault is reported, not raised. A cancellation is
    raised again afterwards.
    """
    task = asyncio.ensure_future(closing)
    cancelled: asyncio.CancelledError | None = None
    deadline = asyncio.get_running_loop().time() + limit_s
    while not task.done():
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            task.cancel()
            on_error(f"the teardown did not end in {limit_s:g} s")
            break
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
    if task.done() and not task.cancelled():
        fault = task.exception()
        if isinstance(fault, GraderFault):
            on_error(f"teardown: {fault}")
        elif fault is not None:
            raise fault
    if cancelled is not None:
        raise cancelled


async def to_the_end[T](writing: Callable[[], T]) -> T:
    """The result of work in a thread, for which a cancelled caller waits as well.

    A thread cannot be cancelled: what it still writes must not be met by whoever comes next.
    """
    task = asyncio.ensure_future(asyncio.to_thread(writing))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    task.exception()  # retrieved here: nobody is there to be told
    raise cancelled
