# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The ChatModel contract, for each of our models."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from vibench_gym.grading.model_sources import SCRIPT_TOOLS
from vibench_gym.llm.base import Message
from vibench_gym.llm.openai import OpenAIChatModel
from vibench_gym.llm.replay.script.loader import parse_script
from vibench_gym.llm.replay.server import ReplayServer
from vibench_gym.testing.contracts.model import ChatModelContract
from vibench_gym.testing.fakes.model import FakeModel, FakeModelExhausted, calls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.llm.base import ChatModel

SCRIPT = """
role: qa
steps:
  - name: test_open
    script:
      - open: {url: /}
      - check: The page is there
        see: ['^Page: ']
"""


class TestOpenAIChatModelOnReplayServer(ChatModelContract):
    @asynccontextmanager
    async def model(self) -> AsyncGenerator[ChatModel]:
        async with ReplayServer({"qa": parse_script(SCRIPT, SCRIPT_TOOLS)}) as server:
            model = OpenAIChatModel(server.model_config("qa"))
            try:
                yield model
            finally:
                await model.aclose()


class TestFakeModel(ChatModelContract):
    @asynccontextmanager
    async def model(self) -> AsyncGenerator[ChatModel]:
        def answer(messages: Sequence[Message], _tools: Sequence[ToolSpec]) -> Message:
            if messages[-1].role == "tool":
                return Message("assistant", "Done.")
            return calls(("open", {"url": "/"}))

        yield FakeModel(answer)

    async def test_runs_out(self) -> None:
        model = FakeModel(["one"])
        assert (await model.complete([Message("user", "?")])).message.text == "one"
        with pytest.raises(FakeModelExhausted, match="1 answers"):
            await model.complete([Message("user", "?")])

    async def test_raises_what_it_was_given(self) -> None:
        model = FakeModel([ValueError("no")])
        with pytest.raises(ValueError, match="no"):
            await model.complete([])
        await model.aclose()
        assert model.closed
