# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An endpoint that refuses a conversation is asked again without what tools returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from vibench_gym.core.tool import ToolResult, ToolSpec
from vibench_gym.llm.base import ConversationRefused, Message
from vibench_gym.llm.loop import NUDGE, LoopBudget, LoopEvent, ToolLoop
from vibench_gym.llm.pruning import WITHHELD, with_fewer_results
from vibench_gym.testing.fakes.model import FakeModel, calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vibench_gym.core.tool import ToolCall
    from vibench_gym.llm.base import Completion


class Picky(FakeModel):
    """Refuses every conversation in which a word occurs, or that is too long."""

    def __init__(self, answers: Any, *, word: str = "\0", most: int = 10**9) -> None:
        super().__init__(answers)
        self.word, self.most, self.refused = word, most, 0

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        text = "".join(message.text for message in messages)
        if self.word in text or len(text) > self.most:
            self.refused += 1
            raise ConversationRefused("HTTP 400: no")
        return await super().complete(messages, tools)


def picky_loop(model: Picky, results: dict[str, str], heard: list[LoopEvent]) -> ToolLoop:
    stopped = []

    async def handle(call: ToolCall) -> ToolResult:
        stopped.extend([call.name] if call.name == "stop" else [])
        return ToolResult(results.get(call.name, "fine"))

    return ToolLoop(
        model,
        handle,
        tools=[ToolSpec(name, name, {}) for name in ("echo", "other", "stop")],
        messages=[Message("user", "go")],
        budget=LoopBudget(turns=20, tokens=10**6, model_seconds=60),
        done=lambda: bool(stopped),
        on_event=heard.append,
    )


@pytest.mark.parametrize(
    ("word", "most", "blind"),
    [("terrible", 10**9, [True]), ("\0", 6000, [True]), ("\0", 12_000, [False])],
)
async def test_what_tools_returned_is_withheld_from_an_endpoint_that_refuses_it(
    word: str, most: int, blind: list[bool]
) -> None:
    heard: list[LoopEvent] = []
    long = 7000 if word == "\0" else 5
    results = {"echo": "a" * long, "other": "a terrible thing " + "b" * long}
    made = [calls((name, {}), turn=n) for n, name in enumerate(("echo", "other", "stop"), 1)]
    model = Picky(made, word=word, most=most)
    await picky_loop(model, results, heard).run()
    withheld = [event.detail["blind"] for event in heard if event.kind == "withheld"]
    assert withheld[-1:] == blind
    last = model.requests[-1][0][-1]
    assert (last.text == WITHHELD) == blind[0]
    assert all(message.tool_calls or message.text for message in model.requests[-1][0])


async def test_a_conversation_that_is_refused_without_any_result_is_nobodys_page() -> None:
    heard: list[LoopEvent] = []
    model = Picky([calls(("echo", {}))], word="go")
    with pytest.raises(ConversationRefused):
        await picky_loop(model, {}, heard).run()
    assert model.refused == 1
    model = Picky([calls(("echo", {}))], most=2)
    with pytest.raises(ConversationRefused):
        await picky_loop(model, {}, heard).run()
    assert model.refused == 3, "everything was withheld before it was given up"


@pytest.mark.parametrize(("length", "blind"), [(7000, [False, True]), (5, [True])])
def test_no_conversation_is_asked_twice_where_the_last_turn_returned_nothing(
    length: int, blind: list[bool]
) -> None:
    made = calls(("echo", {}))
    result = Message("tool", "x" * length, tool_call_id=made.tool_calls[0].id)
    nudged = [Message("assistant", "hm"), Message("user", NUDGE)]
    said = [Message("user", "go"), made, result, *nudged]
    tried = list(with_fewer_results(said))
    assert [one for _, one in tried] == blind
    asked = [said, *(less for less, _ in tried)]
    assert all(asked.count(one) == 1 for one in asked)
    assert asked[-1][2].text == WITHHELD
