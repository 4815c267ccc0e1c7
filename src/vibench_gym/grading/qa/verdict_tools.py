# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tools by which the QA agent gives verdicts. None of them takes a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from vibench_gym.core.tool import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

Words = Annotated[str, StringConstraints(max_length=4000)]
Outcome = Literal["passed", "failed", "blocked"]


class VerdictCall(BaseModel):
    """Base of the verdict tools' parameters: unknown keys refused, nothing converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RecordCheck(VerdictCall):
    """Record one action or verification of the current step, judged by what you saw."""

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


class EndStep(VerdictCall):
    """End the current step; the outcome has to agree with the recorded checks."""

    step: Words = Field(description="name of the current step")
    outcome: Outcome


class Finish(VerdictCall):
    """Finish the plan, after every reached step has its verdict."""


_TOOLS: Final[dict[str, type[VerdictCall]]] = {
    "record_check": RecordCheck,
    "end_step": EndStep,
    "finish": Finish,
}
VERDICT_TOOLS: Final[tuple[ToolSpec, ...]] = tuple(
    ToolSpec(name=name, description=model.__doc__ or "", parameters=model.model_json_schema())
    for name, model in _TOOLS.items()
)


def parse_verdict_call(name: str, arguments: Mapping[str, Any] | None) -> VerdictCall | str | None:
    """The call; a text that says what is wrong with it; None where it is no verdict tool."""
    model = _TOOLS.get(name)
    if model is None:
        return None
    if arguments is None:
        return f"{name}: the arguments are no JSON object"
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:5]
        )
        return f"{name}: {'; '.join(problems)}"
