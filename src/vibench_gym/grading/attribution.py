# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whose fault a failure is, found by control experiments.

What masks, and the control that stands before it. "Control" is an experiment without what is
suspected; where it fails too, our machinery is at fault.

    raised by us            control, before it may mask
    ---------------------   ----------------------------------------------------------------
    SandboxUnavailable      none needed: nothing in a zone can cause it (stack's contract)
    DatabaseUnavailable     the stack's: PostgreSQL on the template fails as well
    BrowserFailed           a fresh stack is healthy and a fresh Chromium shows a page there
    GraderModelFailed       none: the model speaks to us, not to the app
    VerdictUnusable         one correction per step; silence with the budget used up
    BudgetExceeded          none; the app's time has a budget of its own, which fails the step
    SeedingFailed           an unseeded app that is stopped starts again in a fresh stack

What never masks, whatever the app does:

    set-up fails, hangs, leaves a database that does not start    setup_failed, 0
    no document in time, wrong port, exits, restarts badly        start_failed, 0
    its process ends while it is tested                           app_crashed, passed steps keep
    its page takes the browser down, or hangs it                  the step at hand fails
    it is slow beyond the plan's app time                         the step at hand fails
    it stops its database, fills its disk, eats its memory        its pages fail, so do checks
    it does not come back after its own stop, during seeding      seeding_failed, its fault, 0
    it takes the seeder's browser down                            seeding goes on by shell
    it is missing, rejected, too large, without scripts           build failed, 0
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vibench_gym.core.errors import GraderFault, SubmissionFault
from vibench_gym.grading.hygiene import clip

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from vibench_gym.browser.base import Browser
    from vibench_gym.stack.base import PreparedApp, Stack

_LAST_WORDS = 600


async def how_app_ended(stack: Stack) -> str | None:
    """How the app's process ended; None while it runs or something still listens on its port.

    Raises:
        SandboxUnavailable: the stack itself is gone.
    """
    status = await stack.app_status()
    if status.running or _port(stack.url) in status.listening_ports:
        return None
    code = "an unknown code" if status.exit_code is None else f"code {status.exit_code}"
    words = clip(status.log_tail.strip(), _LAST_WORDS)
    return f"the app's process ended with {code}" + (f"; its last words: {words}" if words else "")


async def browser_works(
    prepared: PreparedApp, launch: Callable[[Stack], Awaitable[Browser]]
) -> bool:
    """Control for a browser that failed: does a fresh one show a page in a fresh stack?

    The page is the empty one: nothing of the app's is loaded. An app that does not come up in the
    control says nothing about our browser, so the control counts as good: the app is at fault.
    """
    try:
        async with prepared.stack() as stack:
            if not await stack.healthy():
                return False
            browser = await launch(stack)
            try:
                seen = await browser.observe()
            finally:
                await browser.close()
            return not seen.page_crashed
    except SubmissionFault:
        return True
    except GraderFault:
        return False


async def broken_restart(prepared: PreparedApp) -> str | None:
    """Control for a seeding that failed: how an unseeded app fails to start again, None if it does.

    Raises:
        GraderFault: the control could not be made.
    """
    try:
        async with prepared.stack() as stack:
            await stack.restart_app()
    except SubmissionFault as fault:
        return str(fault)
    return None


def _port(url: str) -> int:
    match = re.search(r":(\d+)(?:/|$)", url)
    return int(match[1]) if match else 80
