# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where the graders' models come from: a task's replay scripts, or a real endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Self

from vibench_gym.browser.tools.registry import BROWSER_TOOLS
from vibench_gym.core.errors import CassetteMiss, Problem, TaskInvalid
from vibench_gym.core.toolset import ToolSet
from vibench_gym.grading.seeding.tools import SEEDING_TOOLS
from vibench_gym.llm.openai import OpenAIChatModel
from vibench_gym.llm.replay.script.loader import ScriptTools, load_script
from vibench_gym.llm.replay.server import ReplayServer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from vibench_gym.core.config import ModelConfig
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.llm.base import ChatModel
    from vibench_gym.llm.replay.script.items import Script

type GraderRole = Literal["qa", "seeder"]

SCRIPT_TOOLS: Final[ScriptTools] = {
    "qa": BROWSER_TOOLS,
    "seed": ToolSet(*BROWSER_TOOLS, *(tool for tool in SEEDING_TOOLS if not tool.ends_seeding)),
}
"""The tools that replay scripts may call: the agents' own."""


class ReplayModels:
    """Models that play the scripts which tasks ship, behind a real HTTP endpoint.

    An async context manager; models are there while it is entered.

    Raises:
        TaskInvalid: a plan lacks a script, or a script does not fit its plan; names every one.
    """

    def __init__(self, *tasks: Task) -> None:
        self._scripts: dict[str, Script] = {}
        problems: list[Problem] = []
        for task in tasks:
            for plan in task.plans:
                problems += self._load(task, plan)
        if problems:
            raise TaskInvalid(problems)
        self._server = ReplayServer(self._scripts)

    def _load(self, task: Task, plan: TestPlan) -> Iterable[Problem]:
        wanted: tuple[tuple[GraderRole, Literal["qa", "seed"]], ...] = (("qa", "qa"),)
        if plan.needs_seeding:
            wanted = (*wanted, ("seeder", "seed"))
        for role, kind in wanted:
            path = task.script(plan, kind)
            if path is None:
                expected = task.root / "replay" / task.source_artifact / f"{plan.stem}.{kind}.yaml"
                yield Problem(str(expected), 1, f"no script: {plan.source} cannot be replayed")
                continue
            try:
                names = {s.name: s.prose for s in plan.steps} if kind == "qa" else None
                self._scripts[_name(plan, role)] = load_script(path, SCRIPT_TOOLS, names)
            except TaskInvalid as invalid:
                yield from invalid.problems

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._server.__aexit__(exc_type, exc, traceback)

    def model(self, plan: TestPlan, role: GraderRole) -> ChatModel:
        """The model that plays this plan's script.

        Raises:
            CassetteMiss: the plan is of a task that was not given, or needs no seeder.
        """
        name = _name(plan, role)
        if name not in self._scripts:
            raise CassetteMiss(f"there is no {role} script for {plan.source}")
        return OpenAIChatModel(self._server.model_config(name))


class EndpointModels:
    """Models of an OpenAI-compatible endpoint; the seeder's is the QA agent's unless given.

    Raises:
        ConfigError: a key is missing or a URL is unusable.
    """

    def __init__(self, qa: ModelConfig, seeder: ModelConfig | None = None) -> None:
        self._configs: dict[GraderRole, ModelConfig] = {"qa": qa, "seeder": seeder or qa}

    async def __aenter__(self) -> Self:
        # A key that is missing has to be told before an app is set up.
        for config in self._configs.values():
            await OpenAIChatModel(config).aclose()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Nothing is shared between plans: each closes its own model."""

    def model(self, plan: TestPlan, role: GraderRole) -> ChatModel:
        """A model of that role.

        Raises:
            ConfigError: the key has gone missing.
        """
        del plan
        return OpenAIChatModel(self._configs[role])


def _name(plan: TestPlan, role: GraderRole) -> str:
    """Distinct for every plan text, so that one server can serve several tasks."""
    return f"replay-{role}-{plan.stem}-{plan.sha256[:12]}"
