# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One attempt at one plan: the starting state, the browser, the QA agent, and the outcome.

Some failures are blamed on the app only because a control without the app worked. They are in
*doubt*: a transient fault of ours looks the same. So does what fails in a stack of which something
outside killed a part. An outcome in doubt is tried once more on a fresh stack: the app fails again
there, a transient fault does not. The last outcome counts as it is, so doubt never masks.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vibench_gym.core.errors import (
    AppCrashed,
    AppSetupFailed,
    AppStartFailed,
    BrowserFailed,
    BudgetExceeded,
    VerdictUnusable,
)
from vibench_gym.core.scoring.scorecard import check_verdicts
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.attribution import browser_works, how_app_ended
from vibench_gym.grading.plan.starting_state import SEEDER_LOST, PlanSeeding
from vibench_gym.grading.qa.agent import QaAgent, QaTask
from vibench_gym.grading.qa.verdict_recorder import VerdictRecorder
from vibench_gym.grading.seeding.control import why_unseedable
from vibench_gym.grading.teardown import close_shielded

if TYPE_CHECKING:
    from vibench_gym.core.errors import GraderFault
    from vibench_gym.core.verdict import Evidence
    from vibench_gym.grading.plan.attempt_resources import AttemptResources
    from vibench_gym.grading.recording_browser import RecordingBrowser
    from vibench_gym.stack.base import Stack


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """How an attempt ended when nothing of ours failed."""

    status: PlanStatus
    error: str | None = None
    retry_reason: str | None = None
    """Why it deserves another attempt, where one is left."""


@dataclass(frozen=True, slots=True)
class _StartingState:
    """A running app in the plan's starting state, and what the seeder says of it."""

    stack: Stack
    seed_summary: str


class PlanAttempt:
    """Grades a plan once. What was measured stays readable on it, also after a failure."""

    def __init__(self, resources: AttemptResources) -> None:
        self._resources = resources
        self._plan = resources.plan
        self._browser: RecordingBrowser | None = None
        self.recorder = VerdictRecorder(resources.plan, on_flag=resources.flags.add)
        self.seeded = False

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Everything that was captured while the plan was tested."""
        return self._browser.evidence if self._browser else ()

    async def run(self) -> AttemptOutcome:
        """Grade the plan.

        Raises:
            GraderFault: our machinery failed.
            OperatorFault: the operator has to act.
        """
        exits = contextlib.AsyncExitStack()
        try:
            start = await self._starting_state(exits)
            outcome = start if isinstance(start, AttemptOutcome) else await self._test(exits, start)
            self._resources.clock.check()
        except AppSetupFailed as fault:
            # Set-up itself has ended well: this is its snapshot, judged by a control.
            return AttemptOutcome(PlanStatus.SETUP_FAILED, str(fault), retry_reason=str(fault))
        except AppStartFailed as fault:
            reason = fault.retry_reason
            return AttemptOutcome(PlanStatus.START_FAILED, str(fault), retry_reason=reason)
        else:
            return outcome
        finally:
            with self._resources.watch.phase("teardown"):
                await close_shielded(exits.aclose(), self._resources.note_error)

    async def _starting_state(
        self, exits: contextlib.AsyncExitStack
    ) -> _StartingState | AttemptOutcome:
        """The app as the plan wants it, or the outcome of an app that cannot be seeded."""
        resources = self._resources
        if not self._plan.needs_seeding:
            return await self._unseeded(exits, "")
        resources.tell("seeding", "working out the starting state")
        seeding = PlanSeeding(resources)
        try:
            delivery = await seeding.run(exits)
        except SEEDER_LOST as fault:
            return await self._seeding_failed(fault, seeding)
        self.seeded = delivery.seed is not None
        if seeding.stack is None:
            return await self._unseeded(exits, delivery.summary)
        return _StartingState(seeding.stack, delivery.summary)

    async def _unseeded(self, exits: contextlib.AsyncExitStack, summary: str) -> _StartingState:
        self._resources.tell("stack", "starting the app")
        return _StartingState(await self._resources.stand_up(exits), summary)

    async def _seeding_failed(self, fault: GraderFault, seeding: PlanSeeding) -> AttemptOutcome:
        """The app's fault if it broke the seed, by what was seen or by a control (rule 11).

        Raises:
            GraderFault: the given one; nothing shows that the app had a hand in it.
        """
        resources = self._resources
        why = seeding.app_did
        if why is None:
            with resources.watch.phase("control"):
                why = await why_unseedable(resources.context.prepared, seeding.last_seed)
        if why is None:
            raise fault
        resources.note_error(str(fault))
        return AttemptOutcome(PlanStatus.SEEDING_FAILED, why, retry_reason=why)

    async def _test(
        self, exits: contextlib.AsyncExitStack, start: _StartingState
    ) -> AttemptOutcome:
        resources, stack = self._resources, start.stack
        browser = self._browser = await resources.open_browser(exits, stack)
        agent = QaAgent(
            self._plan,
            browser=browser,
            recorder=self.recorder,
            config=resources.context.config,
            log=resources.log,
            watch=resources.watch,
            app_gone=lambda: how_app_ended(stack),
            progress=resources.context.progress,
        )
        task = QaTask(
            url=stack.url,
            today=resources.clock.today,
            assets=resources.context.asset_names,
            seeded=self._plan.needs_seeding,
            seed_summary=start.seed_summary,
        )
        resources.tell("step", "testing", self._plan.steps[0].name)
        try:
            async with resources.model("qa", on_turn=agent.begin_turn) as model:
                await agent.run(model, task)
        except AppCrashed as fault:
            outcome = AttemptOutcome(PlanStatus.APP_CRASHED, str(fault))
        except BrowserFailed as fault:
            outcome = await self._browser_lost(stack, fault)
        except (BudgetExceeded, VerdictUnusable) as fault:
            outcome = await self._agent_lost(stack, fault)
        else:
            outcome = await self._ended(stack)
        if problems := check_verdicts(self._plan, self.recorder.verdicts(), browser.evidence):
            raise VerdictUnusable("; ".join(problems))
        if browser.crashes and not self.recorder.all_passed:
            outcome = replace(outcome, error=outcome.error or await self._memory_limit(stack))
        if outcome.retry_reason is None and not self.recorder.all_passed:
            outcome = replace(outcome, retry_reason=(await stack.app_status()).external_kill)
        return outcome

    async def _ended(self, stack: Stack) -> AttemptOutcome:
        """If the app died, what failed counts as its crash; a plan that passed stays graded."""
        if self.recorder.all_passed:
            return AttemptOutcome(PlanStatus.GRADED)
        if (how := await how_app_ended(stack)) is not None:
            return AttemptOutcome(PlanStatus.APP_CRASHED, how)
        return AttemptOutcome(PlanStatus.GRADED, retry_reason=self._retry_reason())

    async def _memory_limit(self, stack: Stack) -> str | None:
        """That the browser was ended for its memory, and at which limit, where that is so."""
        limit = (await stack.usage()).browser_memory_limit
        if limit is None:
            return None
        said = f"Chromium reached its memory limit of {limit} bytes"
        self._resources.flags.add(said)
        return said

    def _retry_reason(self) -> str | None:
        """What besides the app may have failed a plan that ended in order."""
        if self._browser is not None and self._browser.crashes:
            return "a page crashed"
        if self._resources.clock.day_ended:
            return "the day ended that the agent was told of"
        return None

    async def _agent_lost(
        self, stack: Stack, fault: BudgetExceeded | VerdictUnusable
    ) -> AttemptOutcome:
        """If the agent did not finish and the app is dead, the app is to blame.

        Raises:
            GraderFault: the given one, where the app still runs.
        """
        if (how := await how_app_ended(stack)) is None:
            raise fault
        self._resources.note_error(str(fault))
        self.recorder.fail_current("the app keeps running", how)
        return AttemptOutcome(PlanStatus.APP_CRASHED, how)

    async def _browser_lost(self, stack: Stack, fault: BrowserFailed) -> AttemptOutcome:
        """Find out who took the browser down; if it was the app, the step at hand fails.

        Raises:
            BrowserFailed: the control failed as well.
        """
        resources = self._resources
        resources.note_error(str(fault))
        if (how := await how_app_ended(stack)) is not None:
            self.recorder.fail_current("the app keeps running", how)
            return AttemptOutcome(PlanStatus.APP_CRASHED, how)
        with resources.watch.phase("control"):
            healthy = await browser_works(resources.context.prepared, resources.control_browser)
        if not healthy:
            raise fault
        reason = f"the page took the browser down ({fault}); a control without it was fine"
        if (limit := await self._memory_limit(stack)) is not None:
            reason = f"{reason}; {limit}"
        self.recorder.fail_current("the page leaves the browser alive", reason)
        return AttemptOutcome(PlanStatus.GRADED, reason, retry_reason=reason)
