# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A ChatModel that answers with what a test gives it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import Completion, Message, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vibench_gym.core.tool import ToolSpec

type Answer = Completion | Message | str | Exception
type AnswerFunction = Callable[[Sequence[Message], Sequence[ToolSpec]], Answer]


class FakeModelExhausted(AssertionError):
    """The test gave the fake fewer answers than it was asked for."""


class FakeModel:
    """Gives the answers of a list in order, or of a function; an exception in either is raised.

    It keeps every request in `requests`.
    """

    def __init__(
        self, answers: Sequence[Answer] | AnswerFunction, *, name: str = "fake-model"
    ) -> None:
        self._answers = answers
        self._name = name
        self.requests: list[tuple[tuple[Message, ...], tuple[ToolSpec, ...]]] = []
        self.closed = False

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        """The next answer.

        Raises:
            FakeModelExhausted: the list has run out.
        """
        self.requests.append((tuple(messages), tuple(tools)))
        answer = self._next(messages, tools)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        message = Message("assistant", answer) if isinstance(answer, str) else answer
        return Completion(
            message, "tool_calls" if message.tool_calls else "stop", Usage(10, 5, requests=1)
        )

    async def aclose(self) -> None:
        """Notes that it was closed."""
        self.closed = True

    def _next(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        if callable(self._answers):
            return self._answers(messages, tools)
        index = len(self.requests) - 1
        if index >= len(self._answers):
            raise FakeModelExhausted(f"{self._name} was given {len(self._answers)} answers only")
        return self._answers[index]


def calls(*made: tuple[str, dict[str, Any]], text: str = "", turn: int = 1) -> Message:
    """An assistant turn with tool calls, ids `t<turn>c<n>`."""
    return Message(
        "assistant",
        text,
        tool_calls=tuple(
            ToolCall(f"t{turn}c{number}", name, arguments, json.dumps(arguments))
            for number, (name, arguments) in enumerate(made, start=1)
        ),
    )
