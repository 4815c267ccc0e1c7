# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that a model may call: one class per tool, offered and parsed as a set.

A tool's class is the pydantic model of its arguments. Its docstring is the description that the
model reads, its fields are the JSON schema, and class variables say what others need to know about
the tool. So a property of a tool stands at the tool and nowhere else.

Invariant: no call reaches a tool's code unless `ToolSet.parse` accepted it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from vibench_gym.core.tool import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_PROBLEMS = 5


class BadArguments(ValueError):
    """A call that no tool of the set accepts; the message tells the model what was expected."""


class ElementRef:
    """Put into an `Annotated` type, marks a parameter that names an element of a snapshot."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool, for code that writes calls of tools it does not know."""

    required: bool
    is_text: bool
    """A text, or a list of texts."""
    is_element: bool
    """The ref of an element in the last snapshot."""


class Tool(BaseModel):
    """Base of all tools; an instance is a call whose arguments have been checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_name: ClassVar[str]
    """The name by which a model calls it."""
    passive: ClassVar[bool] = False
    """It only looks and changes nothing, so it is allowed while a second look is pending."""
    result_is_finding: ClassVar[bool] = False
    """Its result says what was found out; other tools' results repeat the call's own words."""
    for_shell: ClassVar[bool] = False
    """Its texts are for a shell: a `${NAME}` in them belongs to the shell."""

    @classmethod
    def description(cls) -> str:
        """What a model reads about the tool: the class's docstring."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def spec(cls) -> ToolSpec:
        """The tool as it is offered to a model."""
        return ToolSpec(cls.tool_name, cls.description(), cls.model_json_schema())

    @classmethod
    def refusal(cls, problems: Sequence[str]) -> str:
        """What a model is told about arguments with these problems; there is at least one."""
        return f"{cls.tool_name}: {'; '.join(problems[:MAX_PROBLEMS])}"

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The arguments by name, in the order of the schema."""
        schemas = cls.model_json_schema().get("properties", {})
        return {
            name: Parameter(
                required=field.is_required(),
                is_text=_is_text(schemas[name]),
                is_element=any(map(_marks_element, (*field.metadata, field.annotation))),
            )
            for name, field in cls.model_fields.items()
        }


class ToolSet[T: Tool]:
    """Tools that are offered together, in the order in which a model reads them."""

    def __init__(self, *tools: type[T]) -> None:
        self._tools: Mapping[str, type[T]] = {tool.tool_name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise ValueError("two tools of a set have the same name")
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec() for tool in tools)
        """The tools as a model is offered them."""

    def __iter__(self) -> Iterator[type[T]]:
        return iter(self._tools.values())

    def get(self, name: str) -> type[T] | None:
        """The tool of that name, None where the set has none."""
        return self._tools.get(name)

    def parse(self, name: str, arguments: Mapping[str, Any] | None) -> T:
        """Check a call; `arguments` is None where they could not be read.

        Raises:
            BadArguments: no such tool, or arguments that it does not take.
        """
        tool = self._tools.get(name)
        if tool is None:
            names = ", ".join(self._tools)
            raise BadArguments(f"no tool is called {name[:60]!r}; there are: {names}")
        if arguments is None:
            raise BadArguments(tool.refusal(["the arguments are no JSON object"]))
        try:
            return tool.model_validate(dict(arguments))
        except ValidationError as error:
            problems = [
                f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
                for problem in error.errors(include_url=False, include_input=False)
            ]
            raise BadArguments(tool.refusal(problems)) from None


def _is_text(schema: Mapping[str, Any]) -> bool:
    options = schema.get("anyOf", [schema])
    items = [option.get("items", {}) for option in options if option.get("type") == "array"]
    return any(option.get("type") == "string" for option in (*options, *items))


def _marks_element(part: object) -> bool:
    """Whether the marker is this part of a field's type, or within it (`Ref | None`)."""
    if isinstance(part, ElementRef):
        return True
    inner = (*get_args(part), *getattr(part, "__metadata__", ()))
    return any(_marks_element(each) for each in inner)
