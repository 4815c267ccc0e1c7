# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Plans, tasks, agents and browsers in memory, to grade with nothing real beneath.

The agents here are conversations written beforehand: one tool call a turn, whatever comes back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from support.plans import parse_plan
from vibench_gym.core.tasks.task import Task
from vibench_gym.testing.fakes.browser import FakeBrowser
from vibench_gym.testing.fakes.model import FakeModel, calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vibench_gym.browser.base import Browser, BrowserLaunch
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.llm.base import ChatModel, Message

type Call = tuple[str, dict[str, Any]]
Outcome = Literal["passed", "failed", "blocked"]


def make_plan(
    plan_id: str = "mvp-test1",
    steps: Sequence[tuple[str, str, int]] = (("first", "Look at it.", 3), ("second", "Again.", 7)),
    *,
    precondition: str = "N/A",
) -> TestPlan:
    """A valid plan of steps given as name, prose and points."""
    parts = ["<test_plan>", "<purpose>To see.</purpose>"]
    parts += [f"<seeding_and_precondition>{precondition}</seeding_and_precondition>", "<steps>"]
    for name, prose, points in steps:
        parts.append(f"<step><name>{name}</name>\n{prose}\n<points>{points}</points></step>")
    total = sum(points for _, _, points in steps)
    parts += ["</steps>", f"<full_points>{total}</full_points>", "</test_plan>"]
    return parse_plan("\n".join(parts), f"tests/mvp/{plan_id}.txt", plan_id)


def make_task(*plans: TestPlan, root: Path = Path("/nonexistent/task")) -> Task:
    """A task of these plans."""
    return Task(name="task", artifact="mvp", root=root, prd=(), plans=plans or (make_plan(),))


def make_app(folder: Path) -> Path:
    """A folder with the two scripts that an app must have."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("setup-environment.sh", "start-server.sh"):
        (folder / name).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    return folder


def check(step: str, text: str = "it is there", outcome: str = "passed", **more: str) -> Call:
    """A `record_check` call."""
    return "record_check", {"step": step, "check": text, "outcome": outcome, **more}


def end(step: str, outcome: str = "passed") -> Call:
    """An `end_step` call."""
    return "end_step", {"step": step, "outcome": outcome}


FINISH: Call = ("finish", {})
LOOK: Call = ("snapshot", {})


def passing(plan: TestPlan) -> list[Call]:
    """An agent that looks, passes one check a step, and finishes."""
    made: list[Call] = []
    for step in plan.steps:
        made += [LOOK, check(step.name), end(step.name)]
    return [*made, FINISH]


def failing(plan: TestPlan, at: str, text: str = "it is there") -> list[Call]:
    """An agent that passes every step before `at`, and finds a fatal failure there."""
    made: list[Call] = []
    for step in plan.steps:
        if step.name == at:
            bad = check(step.name, text, "failed", reason="it is not")
            return [*made, LOOK, bad, bad, end(step.name, "failed"), FINISH]
        made += [LOOK, check(step.name), end(step.name)]
    raise KeyError(at)


def agent(made: Sequence[Call | list[Call] | Exception], name: str = "fake-model") -> FakeModel:
    """A model that makes these calls, one a turn; a list is a turn of several calls."""
    answers: list[Message | Exception] = []
    for turn, call in enumerate(made, start=1):
        if isinstance(call, Exception):
            answers.append(call)
        else:
            answers.append(calls(*(call if isinstance(call, list) else [call]), turn=turn))
    return FakeModel(answers, name=name)


@dataclass
class FakeModels:
    """A ModelSource from a function, or from lists of agents by role, used up in order."""

    qa: Callable[[TestPlan], ChatModel]
    seeder: Callable[[TestPlan], ChatModel] | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Plan and role of every model that was given."""

    def model(self, plan: TestPlan, role: Literal["qa", "seeder"]) -> ChatModel:
        """The model for a plan and role."""
        self.asked.append((plan.id, role))
        make = self.qa if role == "qa" else self.seeder
        if make is None:
            raise AssertionError(f"no seeder was expected for {plan.id}")
        return make(plan)


@dataclass
class FakeBrowsers:
    """A BrowserLauncher that hands out fakes: those queued first, then fresh ones."""

    queued: deque[FakeBrowser | Exception] = field(default_factory=deque)
    launched: list[FakeBrowser] = field(default_factory=list)

    async def launch(self, options: BrowserLaunch) -> Browser:
        """The next browser.

        Raises:
            Exception: one that was queued.
        """
        del options
        browser = self.queued.popleft() if self.queued else FakeBrowser()
        if isinstance(browser, Exception):
            raise browser
        self.launched.append(browser)
        return browser
