# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S101 - a contract is made of asserts
"""What every ChatModel has to do, as a test mixin.

Subclass it in a test module and give `model`: a model that answers `OPENING` by calling
`open {"url": "/"}`, and anything at all once that call has its result.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from vibench_gym.core.tool import ToolSpec
from vibench_gym.llm.base import Message

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from vibench_gym.llm.base import ChatModel, Completion

OPENING: Final = (
    Message("system", "You test a web app."),
    Message("user", "Today: 2026-01-31\nOpen the app."),
)
OPEN: Final = ToolSpec(
    "open",
    "Open an address of the app.",
    {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
)


def tiny_png() -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


class ChatModelContract(ABC):
    """Tests that any ChatModel passes."""

    @abstractmethod
    def model(self) -> AbstractAsyncContextManager[ChatModel]:
        """A fresh model that answers `OPENING` with a call of `open`."""

    async def test_has_a_name(self) -> None:
        """A model can be told from others."""
        async with self.model() as model:
            assert model.name

    async def test_answers_with_a_call_that_can_be_carried_out(self) -> None:
        """The call has an id, a name that was offered, and arguments."""
        async with self.model() as model:
            completion = await model.complete(OPENING, [OPEN])
        assert completion.message.role == "assistant"
        (call,) = completion.message.tool_calls
        assert call.id
        assert (call.name, call.arguments) == ("open", {"url": "/"})

    async def test_counts_usage(self) -> None:
        """Requests are counted; nothing is negative."""
        async with self.model() as model:
            usage = (await model.complete(OPENING, [OPEN])).usage
        assert usage.requests >= 1
        assert min(usage.input_tokens, usage.output_tokens, usage.cached_tokens) >= 0
        assert usage.cached_tokens <= usage.input_tokens
        assert usage.seconds >= 0

    async def test_goes_on_after_a_result_with_a_picture(self, tmp_path: Path) -> None:
        """A conversation with tool results and pictures is accepted."""
        picture = tmp_path / "shot-0001.png"
        picture.write_bytes(tiny_png())
        async with self.model() as model:
            first = await model.complete(OPENING, [OPEN])
            result = Message(
                "tool",
                "Page: http://localhost:8000/",
                (picture,),
                tool_call_id=first.message.tool_calls[0].id,
            )
            second = await model.complete((*OPENING, first.message, result), [OPEN])
        assert second.message.role == "assistant"

    async def test_conversations_do_not_mix(self) -> None:
        """Requests at the same time get their own answers."""
        async with self.model() as model:
            answers: list[Completion] = await asyncio.gather(
                *(model.complete(OPENING, [OPEN]) for _ in range(3))
            )
        assert [answer.message.tool_calls[0].name for answer in answers] == ["open"] * 3

    async def test_can_be_closed_twice(self) -> None:
        """Closing is safe on every way out."""
        async with self.model() as model:
            await model.aclose()
            await model.aclose()
