# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A grader whose model is a real client of a real endpoint that knows how to test one plan.

Stacks and browsers are the fakes, so that each can be broken at will; what is broken in the model
is broken on the wire.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from support.faults.endings import Ending, operator_ending
from support.faults.fault_server import Fault, FaultServer, completion_body
from support.grading import Call, make_plan, make_task, passing
from support.grading_lab import Lab
from vibench_gym.core.config import ModelConfig
from vibench_gym.core.errors import OperatorFault
from vibench_gym.grading.grader import Grader
from vibench_gym.llm.base import ERROR_PREFIX
from vibench_gym.llm.openai import OpenAIChatModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.llm.base import ChatModel

DELIVER: Call = ("finish_seeding", {"summary": "done"})


@dataclass
class JudgeServer(FaultServer):
    """Answers as an agent that makes the calls it was given, by what the conversation shows.

    The first `strikes` requests get `fault` instead; without a number, all of them.
    """

    scripts: dict[str, list[Call]] = field(default_factory=dict)
    """Calls by model name, one a turn."""
    fault: Fault | None = None
    strikes: int | None = None
    only: str = ""
    """The model that is struck, by name; any where it is empty."""

    def answer(self, request: dict[str, Any]) -> Fault:
        """The fault, while it strikes; else the next call."""
        if self.fault is not None and self.strikes != 0 and self.only in ("", request["model"]):
            if self.strikes is not None:
                self.strikes -= 1
            return self.fault
        return turn(self._next(request))

    def _next(self, request: Mapping[str, Any]) -> Call:
        done = [
            message
            for message in request["messages"]
            if message["role"] == "tool" and not str(message["content"]).startswith(ERROR_PREFIX)
        ]
        calls = self.scripts[request["model"]]
        return calls[min(len(done), len(calls) - 1)]


def turn(*calls: Call | tuple[str, str], finish_reason: str = "tool_calls") -> Fault:
    """A good answer with tool calls; arguments that are a text are sent as they are."""
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for number, (name, given) in enumerate(calls)
    ]
    body = completion_body(content=None, tool_calls=made)
    body["choices"][0]["finish_reason"] = finish_reason
    return Fault(body=json.dumps(body).encode())


def refusal(status: int, code: str = "", headers: Mapping[str, str] | None = None) -> Fault:
    """An answer with an error in it, as endpoints send them."""
    error = {"message": f"no: {code or status}", "type": "error", "code": code or None}
    return Fault(status, json.dumps({"error": error}).encode(), headers or {})


async def _at_once(_seconds: float) -> None:
    """Waiting between attempts is not what is tried here."""


@dataclass
class FaultLab(Lab):
    """One plan, one grader, one endpoint; `for_good` says how long what is broken stays broken."""

    for_good: bool = True
    server: JudgeServer = field(default_factory=JudgeServer)
    model_settings: dict[str, Any] = field(default_factory=dict)
    the_plan: TestPlan = field(default_factory=make_plan)

    @property
    def times(self) -> int:
        """How often a part has to fail: in every attempt, or in the first."""
        return 1 + self.config.retries if self.for_good else 1

    def strike(self, fault: Fault, *, only: str = "") -> None:
        """Have the endpoint fail."""
        self.server.fault, self.server.only = fault, only
        self.server.strikes = None if self.for_good else 1

    def seeded(self) -> None:
        """Let the plan need a starting state."""
        self.the_plan = make_plan(precondition="A user is there.")
        self.server.scripts = {"qa": passing(self.the_plan), "seeder": [DELIVER]}

    def grader(self) -> Grader:
        """A grader over the fakes and the endpoint."""
        return Grader(
            stacks=self.stacks,
            models=self,
            browsers=self.browsers,
            config=self.config,
            now=self.now,
        )

    def model(self, plan: TestPlan, role: Literal["qa", "seeder"]) -> ChatModel:
        """A client of the endpoint."""
        del plan
        settings = {"timeout_s": 30.0, "max_attempts": 2, **self.model_settings}
        config = ModelConfig(name=role, base_url=self.server.url, **settings)
        return OpenAIChatModel(config, sleep=_at_once)

    async def end(self, app: Path | None = None) -> Ending:
        """Grade, and say what it came to."""
        try:
            record = await self.grade(make_task(self.the_plan), app=app)
        except OperatorFault as fault:
            return operator_ending(fault)
        plan = self.plan(self.the_plan.id)
        return Ending(
            "masked" if record.mask_sample else "scored",
            str(plan.status),
            record.failure_kind or "",
            record.reward,
            plan.attempts,
            record.failure_reason or plan.error or "",
        )


@asynccontextmanager
async def fault_lab(
    root: Path, *, for_good: bool, server: JudgeServer | None = None
) -> AsyncIterator[FaultLab]:
    """A lab whose app passes everything while nothing is broken."""
    lab = FaultLab(root, for_good=for_good, server=server or JudgeServer())
    lab.server.scripts = {"qa": passing(lab.the_plan)}
    async with lab.server:
        yield lab
