# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds out by control experiments whose fault a failure is.

A control repeats what failed without the part that is suspected. Where the control fails too, our
machinery is at fault. This is what masks a plan, and the control that comes before it:

    raised by us            control, before it may mask
    ---------------------   ----------------------------------------------------------------
    SandboxUnavailable      none needed: nothing in a zone can cause it (stack's contract)
    DatabaseUnavailable     the stack's: PostgreSQL on the template fails as well
    BrowserFailed           a fresh stack is healthy and a fresh Chromium shows a page there
    RegistryUnavailable     the registry also fails requests of ours
    ClockJumped             none needed: nothing in a zone can set the host's clock
    GraderModelFailed       none: the model speaks to us, not to the app
    VerdictUnusable         one correction per step, and the app still runs
    BudgetExceeded          the app still runs; its own slowness has a budget that fails the step
    a defect of ours        none
    SeedingFailed           the controls of `seeding/control.py`; so does a seeder's BudgetExceeded

What never masks, whatever the app does:

    set-up fails, hangs, leaves a database that does not start    setup_failed, 0
    no document in time, wrong port, exits, restarts badly        start_failed, 0
    its process ends while it is tested                           app_crashed, passed steps keep
    its page takes the browser down, or hangs it                  the step at hand fails
    it is slow beyond the plan's app time                         the step at hand fails
    it stops its database, fills its disk, eats its memory        its pages fail, so do checks
    it breaks a seed: its end, its database's, its triggers ...   seeding_failed, its fault, 0
    it takes the seeder's browser down                            seeding goes on by shell
    it is missing, rejected, too large, without scripts           build failed, 0

If only a control blames the app (a lost browser, a crashed page, a snapshot whose database does
not start, an app that cannot be seeded), the plan is tried once more on a fresh stack: a transient
fault of ours looks the same. So it is where a box or a database was killed from outside, as a host
that is short of memory does: no app can kill bubblewrap or the first process of a box. The second
attempt is the score. Any other process of the app's may have killed itself: that counts at once.

What an app can still do towards a mask stands in docs/threat-model.md, beside what it cannot.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vibench_gym.core.errors import GraderFault, SubmissionFault
from vibench_gym.grading.untrusted.text import clip
from vibench_gym.stack.base import STAY_HINT

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
    if status.exit_code == 0:
        code += f"; {STAY_HINT}"
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


def _port(url: str) -> int:
    match = re.search(r":(\d+)(?:/|$)", url)
    return int(match[1]) if match else 80
