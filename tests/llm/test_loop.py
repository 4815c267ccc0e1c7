# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tool loop: one answer per call, whatever the model does; budgets; a clean conversation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from vibench_gym.core.errors import BudgetExceeded, GraderModelFailed
from vibench_gym.core.tool import ToolCall, ToolResult, ToolSpec
from vibench_gym.llm.base import Completion, Message, Usage
from vibench_gym.llm.loop import (
    CUT_OFF,
    MAX_CALLS_PER_TURN,
    NUDGE,
    LoopBudget,
    LoopEvent,
    ModelSilent,
    ToolLoop,
)
from vibench_gym.llm.pruning import Pruning
from vibench_gym.testing.fakes.model import Answer, FakeModel, calls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ECHO = ToolSpec("echo", "Say it again.", {"type": "object"})
STOP = ToolSpec("stop", "End.", {"type": "object"})
PLENTY = LoopBudget(turns=50, tokens=1_000_000, model_seconds=1000.0)


class LoopCase:
    """A loop with two tools, and what happened in it."""

    def __init__(self, answers: Sequence[Answer], **settings: Any) -> None:
        self.model = FakeModel(answers)
        self.handled: list[ToolCall] = []
        self.events: list[LoopEvent] = []
        self.stopped = False
        self.image: Path | None = None
        settings.setdefault("tools", [ECHO, STOP])
        settings.setdefault("budget", PLENTY)
        self.loop = ToolLoop(
            self.model,
            self.handle,
            messages=[Message("user", "go")],
            done=lambda: self.stopped,
            on_event=self.events.append,
            **settings,
        )

    async def handle(self, call: ToolCall) -> ToolResult:
        self.handled.append(call)
        if call.name == "stop":
            self.stopped = True
        arguments = dict(call.arguments or {})
        images = (self.image,) if self.image else ()
        return ToolResult(f"said {arguments.get('text')}", "bad" in arguments, images)

    @property
    def results(self) -> list[str]:
        return [message.text for message in self.loop.messages if message.role == "tool"]


async def test_goes_on_until_done() -> None:
    bench = LoopCase([calls(("echo", {"text": "a"})), calls(("stop", {}), turn=2)])
    await bench.loop.run()
    assert [call.name for call in bench.handled] == ["echo", "stop"]
    assert bench.loop.turns == 2
    assert bench.loop.usage.input_tokens == 20
    assert [m.role for m in bench.loop.messages] == ["user", *["assistant", "tool"] * 2]
    kinds = [event.kind for event in bench.events]
    assert kinds == ["completion", "tool_call", "tool_result"] * 2


async def test_two_calls_are_carried_out_in_order() -> None:
    bench = LoopCase([calls(("echo", {"text": "a"}), ("echo", {"text": "b"}), ("stop", {}))])
    await bench.loop.run()
    assert bench.results == ["said a", "said b", "said None"]


async def test_calls_after_the_end_are_not_carried_out() -> None:
    bench = LoopCase([calls(("stop", {}), ("echo", {"text": "late"}))])
    await bench.loop.run()
    assert len(bench.handled) == 1
    assert "not carried out" in bench.results[1]


async def test_unknown_tools_and_bad_arguments_are_answered() -> None:
    bad = Message(
        "assistant",
        tool_calls=(
            ToolCall("1", "rm_rf", {}, "{}"),
            ToolCall("2", "echo", None, '{"text": "a'),
            ToolCall("3", "echo", {"bad": 1}, '{"bad": 1}'),
        ),
    )
    bench = LoopCase([bad, calls(("stop", {}))])
    await bench.loop.run()
    unknown, malformed, failed, _ = bench.results
    assert unknown == "ERROR: no tool 'rm_rf'; there are: echo, stop"
    assert malformed.startswith("ERROR: the arguments of echo are not a JSON object")
    assert failed == "ERROR: said None"


async def test_a_call_that_was_cut_off() -> None:
    cut = Completion(
        Message("assistant", tool_calls=(ToolCall("1", "echo", None, '{"te'),)), "length"
    )
    silent = Completion(Message("assistant", "So I w"), "length")
    bench = LoopCase([cut, silent, calls(("stop", {}))])
    await bench.loop.run()
    assert CUT_OFF in bench.results[0]
    assert Message("user", CUT_OFF) in bench.loop.messages


async def test_too_many_calls_in_a_turn() -> None:
    many = calls(*[("echo", {"text": "x"})] * (MAX_CALLS_PER_TURN + 2))
    bench = LoopCase([many, calls(("stop", {}))])
    await bench.loop.run()
    assert len(bench.handled) == MAX_CALLS_PER_TURN + 1
    assert len(bench.results) == MAX_CALLS_PER_TURN + 3


async def test_silence_is_nudged_twice() -> None:
    bench = LoopCase(["", "hm", calls(("echo", {})), "", "", calls(("stop", {}))])
    await bench.loop.run()
    texts = [(m.role, m.text) for m in bench.loop.messages[:4]]
    # An empty assistant turn leaves no trace.
    assert texts == [("user", "go"), ("user", NUDGE), ("assistant", "hm"), ("user", NUDGE)]


async def test_silence_for_good_is_the_models_failure() -> None:
    bench = LoopCase(["", "no", "I would rather not"])
    with pytest.raises(ModelSilent, match="I would rather not") as caught:
        await bench.loop.run()
    assert isinstance(caught.value, GraderModelFailed)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (LoopBudget(2, 10**6, 1000.0), "its 2 turns"),
        (LoopBudget(50, 40, 1000.0), "45 tokens of 40"),
        (LoopBudget(50, 10**6, 5.0), "its 5 seconds"),
    ],
)
async def test_budgets(budget: LoopBudget, message: str) -> None:
    clock = iter(range(0, 1000, 2))
    bench = LoopCase([calls(("echo", {}))] * 9, budget=budget, clock=lambda: float(next(clock)))
    with pytest.raises(BudgetExceeded, match=message):
        await bench.loop.run()


async def test_cached_input_costs_nothing() -> None:
    cheap = Completion(calls(("echo", {})), "tool_calls", Usage(1000, 1, 999))
    bench = LoopCase([cheap, cheap, calls(("stop", {}))], budget=LoopBudget(9, 10, 9.0))
    await bench.loop.run()
    assert bench.loop.usage.cached_tokens == 1998


async def test_a_model_that_hangs() -> None:
    class Hanging(FakeModel):
        async def complete(
            self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
        ) -> Completion:
            await asyncio.Event().wait()
            return await super().complete(messages, tools)

    loop = ToolLoop(
        Hanging([]),
        LoopCase([]).handle,
        tools=[ECHO],
        messages=[],
        budget=LoopBudget(9, 9, 0.001),
        done=lambda: False,
    )
    with pytest.raises(BudgetExceeded):
        await loop.run()


async def test_a_time_out_of_the_models_own_passes_through() -> None:
    with pytest.raises(TimeoutError, match="mine"):
        await LoopCase([TimeoutError("mine")]).loop.run()


async def test_tools_may_change_between_turns() -> None:
    offered = [ECHO, STOP]
    bench = LoopCase(
        [calls(("echo", {})), calls(("echo", {})), calls(("stop", {}))], tools=lambda: offered
    )
    await bench.loop.step()
    offered.remove(ECHO)
    await bench.loop.run()
    assert bench.results[1] == "ERROR: no tool 'echo'; there are: stop"
    assert [tool.name for tool in bench.model.requests[1][1]] == ["stop"]


async def test_the_harness_may_speak() -> None:
    bench = LoopCase([calls(("echo", {})), calls(("stop", {}))])
    bench.loop.say("before")
    await bench.loop.run()
    assert bench.loop.messages[1] == Message("user", "before")
    bench.loop.say("after")
    bench.stopped = False
    bench.model = FakeModel([])
    with pytest.raises(AssertionError):
        await bench.loop.run()
    assert bench.loop.messages[-1].text == "after"


async def test_old_results_are_shortened_in_batches(tmp_path: Path) -> None:
    answers = [calls(("echo", {"text": "x" * 2000}), turn=n) for n in range(5)]
    bench = LoopCase(
        [*answers, calls(("stop", {}))], pruning=Pruning(keep=2, every=2, head_chars=10)
    )
    bench.image = tmp_path / "shot.png"
    await bench.loop.run()
    assert sum(event.kind == "pruned" for event in bench.events) == 2
    first, *_, last = (m for m in bench.loop.messages if m.role == "tool")
    assert first.text.startswith("said xxxxx\n[older result shortened: 1995 characters")
    assert first.images == ()
    assert last.images == (bench.image,)


async def test_nothing_is_shortened_for_a_replayed_model() -> None:
    answers = [
        Completion(calls(("echo", {"text": "x" * 2000}), turn=n), "tool_calls", needs_history=True)
        for n in range(5)
    ]
    bench = LoopCase(
        [*answers, calls(("stop", {}))], pruning=Pruning(keep=1, every=1, head_chars=10)
    )
    await bench.loop.run()
    assert all(len(text) > 2000 for text in bench.results[:5])


def test_pruning_leaves_short_results_and_keeps_none_if_told(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    messages = [
        Message("tool", "short", (picture,), tool_call_id="1"),
        Message("tool", "short", tool_call_id="2"),
        Message("user", "x" * 5000),
    ]
    pruning = Pruning(keep=0, every=1)
    assert pruning.due(messages)
    pruned = pruning.apply(messages)
    assert pruned[0] == Message("tool", "short", tool_call_id="1")
    assert pruned[1:] == messages[1:]
    assert not pruning.due(pruned)
