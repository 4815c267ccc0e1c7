# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Makes an attempt's starting state: works out the seed on one stack, checks it on a fresh one.

The stack on which a delivery stands is fresh, and nobody has touched it since the seed was applied,
so the plan is tested on it; bringing up a third would only repeat the same steps. Its time counts
as `seed_apply` and as the stack's own phases; the seeder's stack counts as `seeding_stack`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import BrowserFailed, BudgetExceeded, SeedingFailed, SubmissionFault
from vibench_gym.grading.attribution import browser_works
from vibench_gym.grading.events import Stopwatch
from vibench_gym.grading.seeding.control import left_seed, what_the_app_did
from vibench_gym.grading.seeding.seeder import SEEDING, Delivery, Seeder
from vibench_gym.grading.seeding.tools import output_of
from vibench_gym.grading.teardown import close_shielded
from vibench_gym.llm.loop import ModelSilent

if TYPE_CHECKING:
    from vibench_gym.grading.plan.attempt_resources import AttemptResources
    from vibench_gym.grading.recording_browser import RecordingBrowser
    from vibench_gym.stack.base import Seed, Stack

MAX_REOPENED: Final = 2
"""Browsers that the app may take down while it is seeded, before the seeder gets no other."""
SEEDER_LOST: Final = (SeedingFailed, BudgetExceeded, ModelSilent)
"""How a seeding ends in which the seeder did not manage, whoever stood in its way."""


class PlanSeeding:
    """Seeds one attempt. `stack` is the one the accepted delivery stands on.

    After a failure `app_did` says what the app was seen to do to the last delivery, or to the
    seeder itself, and `last_seed` is what was last delivered, or left undelivered.
    """

    def __init__(self, resources: AttemptResources) -> None:
        self._resources = resources
        self._tried = contextlib.AsyncExitStack()
        self._scratch = contextlib.AsyncExitStack()
        self._reopened = 0
        self._seeder_stack: Stack | None = None
        self.stack: Stack | None = None
        self.app_did: str | None = None
        self.last_seed: Seed | None = None

    async def run(self, exits: contextlib.AsyncExitStack) -> Delivery:
        """Have the state worked out and delivered; `exits` gets the stack it stands on.

        Raises:
            AppStartFailed, AppSetupFailed: the unseeded app does not come up.
            SeedingFailed, BudgetExceeded, ModelSilent: there is no delivery that stands.
            GraderFault, OperatorFault: as the seeder's parts raise them.
        """
        exits.push_async_callback(self._tried.aclose)
        resources, watch = self._resources, Stopwatch()
        try:
            try:
                stack = self._seeder_stack = await resources.stand_up(self._scratch, watch)
            finally:
                resources.watch.add(
                    "seeding_stack", sum(phase.seconds for phase in watch.records())
                )
            seeder = Seeder(
                resources.plan,
                stack=stack,
                open_browser=lambda: resources.open_browser(self._scratch, stack, seeding=True),
                reopen=self._reopen,
                try_seed=self._try,
                config=resources.context.config,
                log=resources.log,
                flags=resources.flags,
                watch=resources.watch,
            )
            try:
                async with resources.model("seeder") as model:
                    return await seeder.run(
                        model, today=resources.clock.today, assets=resources.context.asset_names
                    )
            except SEEDER_LOST:
                await self._look_at(seeder, stack)
                raise
        finally:
            with resources.watch.phase("teardown"):
                await close_shielded(self._scratch.aclose(), resources.note_error)

    async def _try(self, seed: Seed) -> str | None:
        """Apply a seed on a fresh stack, which is kept if the seed stands; else why it does not."""
        resources = self._resources
        self.stack = self.app_did = None
        self.last_seed = seed
        await self._tried.aclose()
        fresh = await resources.stand_up(self._tried)
        if not seed.files:
            self.stack = fresh
            return None
        try:
            with resources.watch.phase("seed_apply"):
                result = await fresh.apply_seed(seed)
        except SubmissionFault as fault:
            problem = f"seed.sh ran, but the app does not come up after it: {fault}"
            if (await fresh.app_status()).external_kill is None:
                self.app_did = problem
            await self._tried.aclose()
            return problem
        resources.log.add("shell", SEEDING, command="bash seed.sh", code=result.return_code)
        if result.return_code == 0:
            self.stack = fresh
            return None
        self.app_did = await what_the_app_did(fresh)
        await self._tried.aclose()
        how = "timed out" if result.error_type == "timeout" else f"ended with {result.return_code}"
        printed = output_of(result, resources.context.config.shell_output_chars)
        return f"seed.sh {how} on a fresh app: {printed}"

    async def _look_at(self, seeder: Seeder, stack: Stack) -> None:
        """Note what the app did to the seeder's own stack, and the seed that lies there."""
        if self.app_did is None and seeder.withheld is not None:
            self.app_did = f"the seeder's provider refuses to read what it shows: {seeder.withheld}"
        if self.app_did is None:
            self.app_did = await what_the_app_did(stack)
        if self.last_seed is None and self.app_did is None:
            self.last_seed = await left_seed(stack)

    async def _reopen(self) -> RecordingBrowser | None:
        """A browser again, after a control that says the app took it down.

        Raises:
            BrowserFailed: the control failed as well.
        """
        resources, stack = self._resources, self._seeder_stack
        if not await browser_works(resources.context.prepared, resources.control_browser):
            raise BrowserFailed("the browser failed while seeding, and in a control as well")
        self._reopened += 1
        if stack is None or self._reopened > MAX_REOPENED:
            return None
        try:
            return await resources.open_browser(self._scratch, stack, seeding=True)
        except BrowserFailed:
            return None
