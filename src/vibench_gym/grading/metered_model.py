# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A model with a meter: tokens, requests and seconds of one role in one plan."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from vibench_gym.core.records import UsageRecord
from vibench_gym.llm.base import ChatModel, Completion, Message, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.grading.events import EventLog

ModelRole = Literal["qa", "seeder"]


class MeteredModel:
    """Passes everything on to a model and counts it; `on_turn` is called before each request.

    Raises what the model raises.
    """

    def __init__(
        self,
        model: ChatModel,
        role: ModelRole,
        *,
        log: EventLog,
        on_turn: Callable[[], None] | None = None,
    ) -> None:
        self._model = model
        self._role: ModelRole = role
        self._log = log
        self._on_turn = on_turn
        self._usage = Usage()
        self.seconds = 0.0

    @property
    def name(self) -> str:
        """The model's name as sent to the endpoint."""
        return self._model.name

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        """Answer the conversation once, counted."""
        if self._on_turn is not None:
            self._on_turn()
        start = time.monotonic()
        try:
            completion = await self._model.complete(messages, tools)
        finally:
            self.seconds += time.monotonic() - start
        self._usage += completion.usage
        self._log.add(
            "model",
            role=self._role,
            text=completion.message.text[:2000],
            calls=[call.name for call in completion.message.tool_calls],
            finish_reason=completion.finish_reason,
            input_tokens=completion.usage.input_tokens,
            output_tokens=completion.usage.output_tokens,
        )
        return completion

    async def aclose(self) -> None:
        """Release the model's connections."""
        await self._model.aclose()

    def record(self) -> UsageRecord:
        """What was used so far."""
        return UsageRecord(
            role=self._role,
            model=self.name,
            input_tokens=self._usage.input_tokens,
            output_tokens=self._usage.output_tokens,
            cached_tokens=self._usage.cached_tokens,
            requests=self._usage.requests,
            seconds=round(self.seconds, 4),
        )
