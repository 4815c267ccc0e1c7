# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The seeder: a model with a shell and a browser that works out a plan's starting state.

What it did by hand counts for nothing. It delivers `/seeding/seed.sh` with its files, and the
delivery is tried on a fresh stack before it is accepted; a delivery that does not stand is handed
back with the reason, a bounded number of times. Its output is data: files and KEY=VALUE pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vibench_gym.browser.tools.registry import BROWSER_TOOLS
from vibench_gym.core.errors import BrowserFailed, SeedingFailed
from vibench_gym.core.tool import ToolCall, ToolResult, ToolSpec
from vibench_gym.core.toolset import BadArguments
from vibench_gym.grading.prompts import render
from vibench_gym.grading.seeding.tools import (
    END_OF_DATA,
    SEEDING_TOOLS,
    FinishSeeding,
    GiveUp,
    SeedingTool,
    Shell,
    WriteFile,
    run_shell,
    write_seed_file,
)
from vibench_gym.grading.untrusted.text import as_data, clip
from vibench_gym.llm.base import Message
from vibench_gym.llm.loop import LoopBudget, LoopEvent, ToolLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from vibench_gym.core.config import GraderConfig
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.grading.events import EventLog, Stopwatch
    from vibench_gym.grading.metered_model import MeteredModel
    from vibench_gym.grading.recording_browser import RecordingBrowser
    from vibench_gym.grading.untrusted.text import RecordFlags
    from vibench_gym.stack.base import Seed, Stack

MAX_DELIVERIES: Final = 3
SEEDING: Final = "seeding"
"""The name under which seeding's observations and events stand beside the plan's steps."""
_SUMMARY_CHARS: Final = 4000
_OWN_WORDS: Final = 500
_NO_SCRIPT: Final = (
    "/seeding holds no seed.sh; what is not in the script is not kept (an empty one will do where"
    " .env.seeding says everything)"
)

type TrySeed = Callable[[Seed], Awaitable[str | None]]
"""Tries a seed on a fresh stack: None if it stands, else why not."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the seeder delivered: nothing to do where `seed` is None."""

    seed: Seed | None
    summary: str


class Seeder:
    """Seeds one plan on one stack that is kept for nothing else.

    A browser is opened when it is first used. `reopen` gives one again after the app took one down,
    None when that happened too often.
    """

    def __init__(
        self,
        plan: TestPlan,
        *,
        stack: Stack,
        open_browser: Callable[[], Awaitable[RecordingBrowser]],
        reopen: Callable[[], Awaitable[RecordingBrowser | None]],
        try_seed: TrySeed,
        config: GraderConfig,
        log: EventLog,
        flags: RecordFlags,
        watch: Stopwatch,
    ) -> None:
        self._plan = plan
        self._stack = stack
        self._browser: RecordingBrowser | None = None
        self._browser_lost = False
        self._open_browser = open_browser
        self._reopen = reopen
        self._try_seed = try_seed
        self._config = config
        self._log = log
        self._flags = flags
        self._watch = watch
        self._deliveries = 0
        self._delivery: Delivery | None = None
        self._gave_up: str | None = None
        self.withheld: str | None = None
        """Why the endpoint was shown the app's last words blanked out; None if it read them."""

    async def run(self, model: MeteredModel, *, today: str, assets: Sequence[str]) -> Delivery:
        """Work out and deliver the starting state.

        Raises:
            SeedingFailed: the seeder gave up, or what it delivered does not stand.
            GraderModelFailed, BudgetExceeded: the model did not come to an end.
            CassetteMiss: a replayed seeder has no answer.
        """
        task = render(
            "seeder_task",
            today=today,
            url=self._stack.url,
            precondition=self._plan.precondition,
            purpose=self._plan.purpose,
            assets=tuple(assets),
        )
        loop = ToolLoop(
            model,
            self.handle,
            tools=lambda: self.tools,
            messages=(Message("system", render("seeder_system")), Message("user", task)),
            budget=LoopBudget(
                turns=self._config.seed_max_turns,
                tokens=self._config.max_tokens_per_plan,
                model_seconds=self._config.model_time_per_plan_s,
            ),
            done=lambda: self._delivery is not None or self._gave_up is not None,
            on_event=self._note,
        )
        await loop.run()
        if self._delivery is None:
            raise SeedingFailed(self._gave_up or "the seeder stopped without a delivery")
        return self._delivery

    def _note(self, event: LoopEvent) -> None:
        # Only words of the app's are blanked out, and only where an answer without them came.
        if event.kind == "withheld" and event.detail["blind"]:
            self.withheld = str(event.detail["why"])
            self._log.add("error", SEEDING, error=f"withheld from the seeder: {self.withheld}")

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """What the seeder may call now."""
        browser = () if self._browser_lost else BROWSER_TOOLS.specs
        return (*browser, *SEEDING_TOOLS.specs)

    async def handle(self, call: ToolCall) -> ToolResult:
        """Carry out one call of the seeder's."""
        if SEEDING_TOOLS.get(call.name) is None:
            return await self._browse(call.name, dict(call.arguments or {}))
        try:
            own = SEEDING_TOOLS.parse(call.name, call.arguments)
        except BadArguments as error:
            return ToolResult(str(error), is_error=True)
        return await self._own(own)

    async def _own(self, call: SeedingTool) -> ToolResult:
        match call:
            case Shell():
                with self._watch.phase("seeding_shell"):
                    result, output = await run_shell(self._stack, call, self._config)
                self._log.add(
                    "shell",
                    SEEDING,
                    command=clip(call.command, 2000),
                    ok=not result.is_error,
                    output=clip(output, 2000),
                )
                for flag in self._flags.scan(output, SEEDING):
                    self._log.add("flag", SEEDING, flag=flag)
                return result
            case WriteFile():
                with self._watch.phase("seeding_shell"):
                    result = await write_seed_file(self._stack, call)
                self._log.add("shell", SEEDING, wrote=call.path, ok=not result.is_error)
                return result
            case FinishSeeding():
                return await self._finish(call.summary)
            case GiveUp():
                self._gave_up = clip(f"the seeder gave up: {call.reason}", _SUMMARY_CHARS)
                return ToolResult("GIVEN UP.")
            case _:
                raise TypeError(f"no such call: {call!r}")

    async def _finish(self, summary: str) -> ToolResult:
        self._deliveries += 1
        try:
            seed = await self._stack.read_seed_folder()
        except SeedingFailed as too_much:
            return self._hand_back(str(too_much))
        if (seed.files or seed.env) and "seed.sh" not in seed.files:
            return self._hand_back(_NO_SCRIPT)
        if (problem := await self._try_seed(seed)) is not None:
            return self._hand_back(problem)
        for flag in self._flags.scan(summary, f"{SEEDING} summary"):
            self._log.add("flag", SEEDING, flag=flag)
        kept = seed if seed.files else None
        self._delivery = Delivery(kept, clip(summary, _SUMMARY_CHARS))
        return ToolResult("ACCEPTED.")

    def _hand_back(self, problem: str) -> ToolResult:
        self._log.add("refusal", SEEDING, why=clip(problem, 2000))
        if self._deliveries >= MAX_DELIVERIES:
            self._gave_up = f"the seed does not stand on a fresh app: {problem}"
        for flag in self._flags.scan(problem, SEEDING):
            self._log.add("flag", SEEDING, flag=flag)
        # It may hold what the app printed: data, like every other word of the app's.
        said = as_data(problem, self._config.shell_output_chars + _OWN_WORDS)
        return ToolResult(f"REFUSED: {said}\n{END_OF_DATA}")

    async def _browse(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        if self._browser_lost:
            return ToolResult("there is no browser any more; use the shell", is_error=True)
        if self._browser is None:
            self._browser = await self._open_browser()
        try:
            seen = await self._browser.call(name, arguments, step=SEEDING, phase="seeding_browser")
        except BrowserFailed as fault:
            self._log.add("error", SEEDING, error=str(fault))
            self._browser = await self._reopen()
            self._browser_lost = self._browser is None
            left = "Use the shell from here on." if self._browser_lost else "A fresh one is open."
            return ToolResult(f"the page took the browser down. {left}", is_error=True)
        return self._browser.result(seen)
