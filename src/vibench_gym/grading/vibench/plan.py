# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One plan by ViBench's scripts: seed, evaluate, read the card; whose fault a failure is.

    what happened                                 comes to
    --------------------------------------------  --------------------------------------------------
    a card that fits the plan                     graded
    a card that the judge cannot have written     graded, nothing passed
    a script fails, its time is up, or the card   set-up or start of the app fails under our own
    is missing or does not fit the plan           stack too: setup_failed or start_failed, 0;
                                                  else once more from the start, then masked
    the engine does not answer                    masked, after one more try

A card is read only after an evaluation that says it succeeded.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from vibench_gym.core.errors import (
    AppSetupFailed,
    AppStartFailed,
    BudgetExceeded,
    GraderFault,
    GraderModelFailed,
    SandboxUnavailable,
    SeedingFailed,
    SubmissionFault,
)
from vibench_gym.core.records import PlanRecord
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.events import EventLog, Stopwatch
from vibench_gym.grading.plan.files import ERROR_CHARS
from vibench_gym.grading.qa.verdict_recorder import nothing_reached
from vibench_gym.grading.untrusted.text import RecordFlags, clip
from vibench_gym.grading.vibench import kept_output
from vibench_gym.grading.vibench.judge_card import CardForged, Judged, forged_verdicts, read_card
from vibench_gym.grading.vibench.script_run import ScriptRun
from vibench_gym.grading.vibench.staging import stage_seeding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vibench_gym.core.config import ArchiveBudget, VibenchConfig
    from vibench_gym.core.rundir import PlanDir
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.grading.vibench.checkout import Checkout, DockerHost
    from vibench_gym.grading.vibench.environment import GraderEnvironment
    from vibench_gym.grading.vibench.scripts import ScriptResult

_SAID_CHARS: Final = 1200


class AppControl(Protocol):
    """Whether the app stands up without ViBench's scripts."""

    async def check(self) -> None:
        """Set it up and start it, once per artifact.

        Raises:
            AppSetupFailed: it does not.
            AppStartFailed: it does not.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What all plans of one rollout share."""

    checkout: Checkout
    host: DockerHost
    environment: GraderEnvironment
    config: VibenchConfig
    archive: ArchiveBudget
    app: Path
    """The app as the scripts can be given it."""
    test_assets: Path | None
    control: AppControl


@dataclass(slots=True)
class VibenchPlanRun:
    """Grades one plan of one artifact."""

    context: PlanContext
    plan: TestPlan
    directory: PlanDir
    flags: RecordFlags = field(default_factory=RecordFlags)
    watch: Stopwatch = field(default_factory=Stopwatch)

    async def run(self, *, queue_s: float = 0.0) -> PlanRecord:
        """Grade the plan, at most `retries` times more after a grader's fault."""
        log = EventLog(self.directory.append_event)
        self.watch.add("queue", queue_s)
        attempts = 0
        while True:
            attempts += 1
            log.add("attempt", number=attempts)
            try:
                judged = await self._attempt()
            except (GraderFault, SubmissionFault) as fault:
                error = self.context.environment.clean(str(fault) or type(fault).__name__)
                kind = fault.failure_kind if isinstance(fault, GraderFault) else None
                log.add("error", error=clip(error, ERROR_CHARS), failure_kind=kind)
                if isinstance(fault, GraderFault) and attempts <= self.context.config.retries:
                    continue
                return self._failed(fault, error, attempts, log.elapsed_s)
            for verdict in judged.verdicts:
                log.add("verdict", verdict.step, outcome=str(verdict.outcome))
            return self._record(PlanStatus.GRADED, judged, attempts, log.elapsed_s)

    async def _attempt(self) -> Judged:
        """One run of both scripts.

        Raises:
            GraderFault: ours, or nobody's that can be told.
            SubmissionFault: the app's.
        """
        context = self.context
        try:
            async with ScriptRun(
                checkout=context.checkout,
                host=context.host,
                environment=context.environment,
                grace_s=context.config.cleanup_grace_s,
                output_bytes=context.config.output_bytes,
                on_left=self._left,
            ) as place:
                return await self._scripts(place)
        except SandboxUnavailable:
            raise
        except GraderFault:
            if not await asyncio.to_thread(context.host.answers):
                raise SandboxUnavailable("the Docker engine went away") from None
            await context.control.check()
            raise

    def _left(self, what: str) -> None:
        self.flags.add(clip(what, 200))

    async def _scripts(self, place: ScriptRun) -> Judged:
        context, config = self.context, self.context.config
        deadline = time.monotonic() + config.plan_timeout_s
        text = place.folder / "test-plan.txt"
        text.write_bytes(self.plan.text.encode())
        common = ["--app-dir", str(context.app), "--test-plan", str(text)]
        seeded, judged = place.folder / "seed", place.folder / "evaluation"
        for folder in (seeded, judged):
            folder.mkdir()
        with self.watch.phase("seed"):
            done = await self._script(
                place, "seed", [*common, "--output-dir", str(seeded)], deadline
            )
        if done.code != 0:
            raise SeedingFailed(f"run-seed.py ended with {done.code}: {_last_words(done)}")
        await self._keep(seeded)
        seeding = place.folder / "seeding"
        dropped = await asyncio.to_thread(
            stage_seeding, seeded / "seeding", seeding, context.archive
        )
        if dropped:
            self.flags.add(clip(f"left out of the seed: {', '.join(dropped)}", 200))
        arguments = [*common, "--seeding", str(seeding), "--output-dir", str(judged)]
        if context.test_assets is not None:
            arguments += ["--test-assets", str(context.test_assets)]
        with self.watch.phase("evaluate"):
            done = await self._script(place, "evaluate", arguments, deadline)
        await self._keep(judged)
        if done.code != 0:
            raise GraderModelFailed(
                f"run-evaluate-post-seeding.py ended with {done.code}: {_last_words(done)}"
            )
        return await asyncio.to_thread(read_card, judged, self.plan, context.environment.clean)

    async def _script(
        self, place: ScriptRun, phase: str, arguments: Sequence[str], deadline: float
    ) -> ScriptResult:
        """Run one of the two.

        Raises:
            BudgetExceeded: the plan's time is up.
        """
        checkout, clean = self.context.checkout, self.context.environment.clean
        program = checkout.seed if phase == "seed" else checkout.evaluate
        done = await place.script(program, arguments, max(0.0, deadline - time.monotonic()))
        await asyncio.to_thread(
            kept_output.keep_text, self.directory.path, f"{phase}.log", done.output, clean
        )
        if done.timed_out:
            limit = self.context.config.plan_timeout_s
            raise BudgetExceeded(f"{program.name}: the plan's {limit:g} s were up")
        return done

    async def _keep(self, folder: Path) -> None:
        if self.context.config.keep_artifacts:
            await asyncio.to_thread(
                kept_output.keep_tree, folder, self.directory.path, self.context.environment.clean
            )

    def _failed(
        self, fault: GraderFault | SubmissionFault, error: str, attempts: int, seconds: float
    ) -> PlanRecord:
        nothing = Judged(nothing_reached(self.plan), (), "")
        if isinstance(fault, CardForged):
            self.flags.add("the judge's card was forged")
            nothing = Judged(forged_verdicts(self.plan, error), (), "")
        kind = fault.failure_kind if isinstance(fault, GraderFault) else None
        return self._record(_status(fault), nothing, attempts, seconds, error=error, kind=kind)

    def _record(
        self,
        status: PlanStatus,
        judged: Judged,
        attempts: int,
        seconds: float,
        *,
        error: str | None = None,
        kind: str | None = None,
    ) -> PlanRecord:
        if judged.overview:
            self.flags.scan(judged.overview, "the judge's overview")
        return PlanRecord(
            plan=self.plan.id,
            plan_sha256=self.plan.sha256,
            status=status,
            failure_kind=kind,
            error=None if error is None else clip(error, ERROR_CHARS),
            attempts=attempts,
            seeded="evaluate" in {timing.phase for timing in self.watch.records()},
            verdicts=judged.verdicts,
            evidence=judged.evidence,
            timings=self.watch.records(),
            duration_s=round(seconds, 3),
            flags=self.flags.all(),
        )


def _status(fault: GraderFault | SubmissionFault) -> PlanStatus:
    match fault:
        case SeedingFailed():
            return PlanStatus.SEEDING_FAILED
        case GraderFault():
            return PlanStatus.GRADER_FAILED
        case AppSetupFailed():
            return PlanStatus.SETUP_FAILED
        case AppStartFailed():
            return PlanStatus.START_FAILED
        case _:
            return PlanStatus.GRADED


def _last_words(done: ScriptResult) -> str:
    return done.output[-_SAID_CHARS:].strip()
