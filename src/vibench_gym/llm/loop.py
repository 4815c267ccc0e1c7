# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The loop in which a model uses tools until its job is done.

Invariants: every call that a model makes gets exactly one answer, in order, even when it is
malformed or names a tool that is not offered; the conversation stays one that endpoints accept;
turns, tokens and the model's own seconds are bounded, and only the model's time counts here, never
the tools'. Errors of the tools' handler pass through unchanged. If the endpoint refuses a
conversation, the loop asks again without the results of tools: if that is refused too, the results
were not the cause.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from vibench_gym.core.errors import BudgetExceeded, GraderModelFailed
from vibench_gym.core.tool import ToolCall, ToolResult
from vibench_gym.llm.base import ERROR_PREFIX, ConversationRefused, Message, Usage
from vibench_gym.llm.pruning import Pruning, with_fewer_results

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.llm.base import ChatModel, Completion

MAX_NUDGES = 2
MAX_CALLS_PER_TURN = 16
NUDGE = "Go on by calling one of the tools; a turn without a tool call does nothing."
CUT_OFF = "Your answer was cut off at the output limit. Be brief: call one tool."


type EventKind = Literal[
    "completion", "tool_call", "tool_result", "nudge", "user", "pruned", "withheld"
]


class ModelSilent(GraderModelFailed):
    """The model went on without calling a tool although it was asked to."""


@dataclass(frozen=True, slots=True)
class LoopBudget:
    """What the model may use up in one loop; more is `BudgetExceeded`."""

    turns: int
    tokens: int
    """Input and output; input that the endpoint served from its prompt cache does not count."""
    model_seconds: float


@dataclass(frozen=True, slots=True)
class LoopEvent:
    """One thing that happened, for the transcript; `detail` is JSON."""

    kind: EventKind
    turn: int
    detail: Mapping[str, Any] = field(default_factory=dict)


def _ignore(_event: LoopEvent) -> None:
    pass


class ToolLoop:
    """Continues one conversation turn by turn.

    Args:
        model: answers the conversation.
        handler: carries out one call of an offered tool whose arguments could be read.
        tools: the tools offered, or a function that says which are offered in the coming turn.
        messages: the conversation so far (system and first user message).
        budget: limits over the life of this loop, over all its runs.
        done: asked after every call; calls of the same turn that follow are not carried out.
        on_event: called with everything that happens.
        pruning: how old results are shortened, None for never. A replayed model's conversation is
            never shortened: its completions ask for that.
        clock: monotonic seconds, for tests.
    """

    def __init__(
        self,
        model: ChatModel,
        handler: Callable[[ToolCall], Awaitable[ToolResult]],
        *,
        tools: Sequence[ToolSpec] | Callable[[], Sequence[ToolSpec]],
        messages: Sequence[Message],
        budget: LoopBudget,
        done: Callable[[], bool],
        on_event: Callable[[LoopEvent], None] = _ignore,
        pruning: Pruning | None = Pruning(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._handler = handler
        self._tools = tools
        self._messages = list(messages)
        self._budget = budget
        self._done = done
        self._emit = on_event
        self._pruning = pruning
        self._clock = clock
        self._pending_user: list[str] = []
        self._nudges = 0
        self.turns = 0
        self.usage = Usage()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, as the model sees it."""
        return tuple(self._messages)

    def say(self, text: str) -> None:
        """Add a user message after the results of the turn at hand."""
        self._pending_user.append(text)

    async def run(self) -> None:
        """Go on until `done`.

        Raises:
            BudgetExceeded: turns, tokens or model seconds are used up.
            ModelSilent: no tool call in three turns running.
            GraderModelFailed: the model gave no usable answer.
            ConversationRefused: the endpoint refuses even what no tool has returned.
            CassetteMiss: a replayed model has no answer for this conversation.
        """
        while not self._done():
            self._flush_user()
            await self.step()

    async def step(self) -> None:
        """One turn: one completion and its calls; raises as `run`."""
        offered = {tool.name: tool for tool in self._offered()}
        completion = await self._complete_or_shorten(tuple(offered.values()))
        calls = completion.message.tool_calls
        cut_off = completion.finish_reason == "length"
        if not calls:
            self._nudge(completion, CUT_OFF if cut_off else NUDGE)
            return
        self._nudges = 0
        self._messages.append(completion.message)
        for index, call in enumerate(calls):
            result = await self._answer(call, index, offered, cut_off=cut_off)
            self._append_result(call, result)
        self._flush_user()
        self._prune()

    def _offered(self) -> Sequence[ToolSpec]:
        return self._tools() if callable(self._tools) else self._tools

    async def _complete_or_shorten(self, tools: Sequence[ToolSpec]) -> Completion:
        """A completion; if the endpoint refuses the conversation, one of a shorter conversation.

        Raises:
            ConversationRefused: it refuses even what no tool has returned.
        """
        try:
            return await self._complete(tools)
        except ConversationRefused as refused:
            for shorter, blind in with_fewer_results(self._messages):
                self._messages = shorter
                self._event("withheld", blind=blind, why=str(refused)[:500])
                try:
                    return await self._complete(tools)
                except ConversationRefused:
                    continue
            raise

    async def _complete(self, tools: Sequence[ToolSpec]) -> Completion:
        budget = self._budget
        used = self.usage
        tokens = used.input_tokens - used.cached_tokens + used.output_tokens
        if self.turns >= budget.turns:
            raise BudgetExceeded(f"the model used up its {budget.turns} turns")
        if tokens >= budget.tokens:
            raise BudgetExceeded(f"the model used {tokens} tokens of {budget.tokens}")
        left = budget.model_seconds - self.usage.seconds
        if left <= 0:
            raise BudgetExceeded(f"the model used up its {budget.model_seconds:g} seconds")
        self.turns += 1
        started = self._clock()
        deadline = asyncio.timeout(left)
        try:
            async with deadline:
                completion = await self._model.complete(self._messages, tools)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise BudgetExceeded(
                f"the model used up its {budget.model_seconds:g} seconds"
            ) from error
        seconds = max(0.0, self._clock() - started)
        self.usage += replace(completion.usage, seconds=seconds)
        if completion.needs_history:
            self._pruning = None
        self._event(
            "completion",
            text=completion.message.text,
            finish_reason=completion.finish_reason,
            calls=len(completion.message.tool_calls),
            input_tokens=completion.usage.input_tokens,
            output_tokens=completion.usage.output_tokens,
            seconds=round(seconds, 3),
        )
        return completion

    def _nudge(self, completion: Completion, text: str) -> None:
        if self._nudges >= MAX_NUDGES:
            answer = completion.message.text.strip()[:200] or "nothing"
            raise ModelSilent(
                f"{self._model.name} made no tool call in {MAX_NUDGES + 1} turns running; "
                f"it said: {answer}"
            )
        self._nudges += 1
        if completion.message.text.strip():
            # An empty assistant turn is refused by many endpoints, so it leaves no trace.
            self._messages.append(completion.message)
        self._messages.append(Message("user", text))
        self._event("nudge", text=text)

    async def _answer(
        self, call: ToolCall, index: int, offered: Mapping[str, ToolSpec], *, cut_off: bool
    ) -> ToolResult:
        self._event("tool_call", id=call.id, name=call.name, arguments=_shown(call))
        if self._done():
            return ToolResult("not carried out: the work had ended before this call", is_error=True)
        if index >= MAX_CALLS_PER_TURN:
            return ToolResult(
                f"not carried out: at most {MAX_CALLS_PER_TURN} calls in a turn", is_error=True
            )
        if call.name not in offered:
            names = ", ".join(offered)
            return ToolResult(f"no tool {call.name[:64]!r}; there are: {names}", is_error=True)
        if call.arguments is None:
            why = CUT_OFF if cut_off else f"they were: {call.raw_arguments[:200]!r}"
            return ToolResult(
                f"the arguments of {call.name} are not a JSON object; {why}", is_error=True
            )
        return await self._handler(call)

    def _append_result(self, call: ToolCall, result: ToolResult) -> None:
        text = result.text
        if result.is_error and not text.startswith(ERROR_PREFIX):
            text = ERROR_PREFIX + text
        self._messages.append(Message("tool", text, result.images, tool_call_id=call.id))
        self._event(
            "tool_result",
            id=call.id,
            name=call.name,
            is_error=result.is_error,
            text=text,
            images=[path.name for path in result.images],
        )

    def _flush_user(self) -> None:
        for text in self._pending_user:
            self._messages.append(Message("user", text))
            self._event("user", text=text)
        self._pending_user.clear()

    def _prune(self) -> None:
        if self._pruning is not None and self._pruning.due(self._messages):
            self._messages = self._pruning.apply(self._messages)
            self._event("pruned", messages=len(self._messages))

    def _event(self, kind: EventKind, **detail: Any) -> None:
        self._emit(LoopEvent(kind, self.turns, detail))


def _shown(call: ToolCall) -> Any:
    return call.raw_arguments[:2000] if call.arguments is None else dict(call.arguments)
