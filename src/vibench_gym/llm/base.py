# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Messages, completions and the ChatModel contract."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from vibench_gym.core.errors import GraderModelFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vibench_gym.core.tool import ToolCall, ToolSpec

ERROR_PREFIX = "ERROR: "
"""Opens the text of a tool result whose call failed: the wire has no field for that."""

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `images` are PNG or JPEG files, sent beside the text (user and tool turns)."""

    role: Role
    text: str = ""
    images: tuple[Path, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them, and requests as we did (retries included)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.requests + other.requests,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Completion:
    """One assistant turn."""

    message: Message
    finish_reason: str
    usage: Usage = field(default=Usage())
    needs_history: bool = False
    """A replayed model reads the whole conversation each time: nothing in it may be shortened."""


class ConversationRefused(GraderModelFailed):
    """The endpoint works but refuses this conversation, for example because it is too long.

    An app's text in it may be the reason, so the caller first tries again without that text.
    """


class ChatModel(Protocol):
    """A model that answers a conversation, with tools.

    Raises:
        GraderModelFailed: no usable answer within the retry budget.
        ConversationRefused: one of those; another conversation may be answered.
        CassetteMiss: a replayed model has no answer for this conversation.
    """

    @property
    def name(self) -> str:
        """The model's name as sent to the endpoint."""
        ...

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        """Answer the conversation once."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
