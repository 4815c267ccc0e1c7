# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tools by which the QA agent gives verdicts. None of them takes a number."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints

from vibench_gym.core.toolset import Tool, ToolSet

Words = Annotated[str, StringConstraints(max_length=4000)]
Outcome = Literal["passed", "failed", "blocked"]


class VerdictTool(Tool):
    """Base of the verdict tools: unknown arguments refused, nothing converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RecordCheck(VerdictTool):
    """Record one action or verification of the current step, judged by what you saw."""

    tool_name = "record_check"
    step: Words = Field(description="name of the current step")
    check: Words = Field(description="the action or verification, in words that name it")
    outcome: Outcome
    reason: Words = Field(default="", description="what you saw that makes it so")
    saw: list[Words] = Field(
        default_factory=list,
        max_length=10,
        description="words of the page that show it, word for word, from this step's observations",
    )
    non_fatal_quote: Words | None = Field(
        default=None,
        description="for a failure that the plan allows: the step's own sentence, word for word",
    )


class EndStep(VerdictTool):
    """End the current step; the outcome has to agree with the recorded checks."""

    tool_name = "end_step"
    step: Words = Field(description="name of the current step")
    outcome: Outcome


class Finish(VerdictTool):
    """Finish the plan, after every reached step has its verdict."""

    tool_name = "finish"


VERDICT_TOOLS: Final[ToolSet[VerdictTool]] = ToolSet(RecordCheck, EndStep, Finish)
