# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One attempt at one plan: starting state, browser, QA, and what the plan came to.

A failure that is the app's only because a control without the app worked is in *doubt*: a fault of
ours that passes looks the same. So is what fails in a stack that somebody outside has disturbed.
Such an outcome is tried once more on a fresh stack, where the app does it again and a passing fault
does not; the last outcome counts as it is, so doubt never masks.
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
    SeedingFailed,
    VerdictUnusable,
)
from vibench_gym.core.scoring.scorecard import check_verdicts
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.attribution import broken_ground, browser_works, how_app_ended
from vibench_gym.grading.context import close_shielded
from vibench_gym.grading.qa.agent import QaAgent, QaTask
from vibench_gym.grading.qa.verdict_recorder import VerdictRecorder
from vibench_gym.grading.seeding.plan_seeding import PlanSeeding

if TYPE_CHECKING:
    from vibench_gym.core.verdict import Evidence
    from vibench_gym.grading.attempt_resources import AttemptResources
    from vibench_gym.grading.recording_browser import RecordingBrowser
    from vibench_gym.stack.base import Stack


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a plan came to when nothing of ours failed."""

    status: PlanStatus
    error: str | None = None
    retry_reason: str | None = None
    """Why it deserves another attempt, where one is left."""


class PlanAttempt:
    """Grades a plan once. What was measured stays readable on it, also after a failure."""

    def __init__(self, shop: AttemptResources) -> None:
        self._shop = shop
        self._plan = shop.plan
        self._pages: RecordingBrowser | None = None
        self.book = VerdictRecorder(shop.plan, on_flag=shop.flags.add)
        self.seeded = False

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Everything that was captured while the plan was tested."""
        return self._pages.evidence if self._pages else ()

    async def run(self) -> Outcome:
        """Grade the plan.

        Raises:
            GraderFault: our machinery failed.
            OperatorFault: the operator has to act.
        """
        exits = contextlib.AsyncExitStack()
        try:
            outcome = await self._graded(exits)
            self._shop.clock.check()
        except AppSetupFailed as fault:
            # Set-up itself has ended well: this is its snapshot, judged by a control.
            return Outcome(PlanStatus.SETUP_FAILED, str(fault), retry_reason=str(fault))
        except AppStartFailed as fault:
            return Outcome(PlanStatus.START_FAILED, str(fault), retry_reason=fault.retry_reason)
        else:
            return outcome
        finally:
            with self._shop.watch.phase("teardown"):
                await close_shielded(exits.aclose(), self._shop.note_error)

    async def _graded(self, exits: contextlib.AsyncExitStack) -> Outcome:
        shop = self._shop
        summary = ""
        if self._plan.needs_seeding:
            shop.tell("seeding", "working out the starting state")
            seeding = PlanSeeding(shop)
            try:
                delivery = await seeding.run(exits)
            except SeedingFailed as fault:
                return await self._seeding_failed(fault)
            self.seeded, summary = delivery.seed is not None, delivery.summary
            stack = seeding.stack
        else:
            stack = None
        if stack is None:
            shop.tell("stack", "starting the app")
            stack = await shop.stand_up(exits)
        return await self._test(exits, stack, summary)

    async def _seeding_failed(self, fault: SeedingFailed) -> Outcome:
        """The app's fault only if it does not stand even an empty seed (rule 11).

        Raises:
            SeedingFailed: it does; the fault is the grader's.
        """
        with self._shop.watch.phase("control"):
            broken = await broken_ground(self._shop.bench.prepared)
        if broken is None:
            raise fault
        why = f"nothing can be seeded into this app: {broken}"
        return Outcome(PlanStatus.SEEDING_FAILED, why, retry_reason=why)

    async def _test(self, exits: contextlib.AsyncExitStack, stack: Stack, summary: str) -> Outcome:
        shop = self._shop
        pages = self._pages = await shop.open_pages(exits, stack)
        tester = QaAgent(
            self._plan,
            pages=pages,
            book=self.book,
            config=shop.bench.config,
            log=shop.log,
            watch=shop.watch,
            app_gone=lambda: how_app_ended(stack),
            progress=shop.bench.progress,
        )
        brief = QaTask(
            url=stack.url,
            today=shop.clock.today,
            assets=shop.bench.asset_names,
            seeded=self._plan.needs_seeding,
            seed_summary=summary,
        )
        shop.tell("step", "testing", self._plan.steps[0].name)
        try:
            async with shop.model("qa", on_turn=tester.begin_turn) as model:
                await tester.run(model, brief)
        except AppCrashed as fault:
            outcome = Outcome(PlanStatus.APP_CRASHED, str(fault))
        except BrowserFailed as fault:
            outcome = await self._browser_lost(stack, fault)
        except (BudgetExceeded, VerdictUnusable) as fault:
            outcome = await self._agent_lost(stack, fault)
        else:
            outcome = await self._ended(stack)
        if problems := check_verdicts(self._plan, self.book.verdicts(), pages.evidence):
            raise VerdictUnusable("; ".join(problems))
        if outcome.retry_reason is None and not self.book.all_passed:
            outcome = replace(outcome, retry_reason=(await stack.app_status()).external_kill)
        return outcome

    async def _ended(self, stack: Stack) -> Outcome:
        """An app that is gone explains its failures; a plan that was passed needs none."""
        if self.book.all_passed:
            return Outcome(PlanStatus.GRADED)
        if (how := await how_app_ended(stack)) is not None:
            return Outcome(PlanStatus.APP_CRASHED, how)
        return Outcome(PlanStatus.GRADED, retry_reason=self._retry_reason())

    def _retry_reason(self) -> str | None:
        """What besides the app may have failed a plan that ended in order."""
        if self._pages is not None and self._pages.crashes:
            return "a page crashed"
        if self._shop.clock.day_ended:
            return "the day ended that the agent was told of"
        return None

    async def _agent_lost(self, stack: Stack, fault: BudgetExceeded | VerdictUnusable) -> Outcome:
        """An agent that found no end with an app that is gone was led there by the app.

        Raises:
            GraderFault: the given one, where the app still runs.
        """
        if (how := await how_app_ended(stack)) is None:
            raise fault
        self._shop.note_error(str(fault))
        self.book.fail_current("the app keeps running", how)
        return Outcome(PlanStatus.APP_CRASHED, how)

    async def _browser_lost(self, stack: Stack, fault: BrowserFailed) -> Outcome:
        """Find out who took the browser down; if it was the app, the step at hand fails.

        Raises:
            BrowserFailed: the control failed as well.
        """
        shop = self._shop
        shop.note_error(str(fault))
        if (how := await how_app_ended(stack)) is not None:
            self.book.fail_current("the app keeps running", how)
            return Outcome(PlanStatus.APP_CRASHED, how)
        with shop.watch.phase("control"):
            healthy = await browser_works(shop.bench.prepared, shop.control_browser)
        if not healthy:
            raise fault
        reason = f"the page took the browser down ({fault}); a control without it was fine"
        self.book.fail_current("the page leaves the browser alive", reason)
        return Outcome(PlanStatus.GRADED, reason, retry_reason=reason)
