# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Plays a replay script: an agent whose calls and verdicts depend on what the tools returned.

The engine keeps no state between requests. Each time it is given the whole conversation, plays the
script from its start against the tool results found there, and says what comes next. The same
conversation always gets the same answer, so retries and concurrent plans are safe (ADR 0003). A
conversation that does not follow the script is a `CassetteMiss`, never a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from vibench_gym.core.errors import CassetteMiss
from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import ERROR_PREFIX
from vibench_gym.llm.replay.script.items import (
    Action,
    Capture,
    CheckItem,
    Item,
    ScriptStep,
    When,
)
from vibench_gym.llm.replay.script.template import today_of
from vibench_gym.llm.replay.script.view import View, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vibench_gym.llm.base import Message
    from vibench_gym.llm.replay.script.items import Script

DONE_TEXT = "Done."
_STALE = re.compile(r"no element (f\d+)?e\d+ on this page")
"""How the browser says that a ref is of an older snapshot."""
_MAX_LOOKS = 3


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: Mapping[str, Any]


type _Play = Generator[_Call, str]


def next_call(script: Script, messages: Sequence[Message]) -> ToolCall | None:
    """The script's next call in this conversation; None when the script has ended.

    Raises:
        CassetteMiss: the conversation does not follow the script.
    """
    first = next((message.text for message in messages if message.role == "user"), "")
    player = _Player(script, View(today_of(first)))
    play = player.play()
    results = {m.tool_call_id: m.text for m in messages if m.role == "tool" and m.tool_call_id}
    turns = [message for message in messages if message.role == "assistant" and message.tool_calls]
    call = next(play, None)
    for turn in turns:
        if call is None:
            raise CassetteMiss(f"{script.source}: the conversation goes on after the script's end")
        result = results.get(_same_call(script, call, turn))
        if result is None:
            raise CassetteMiss(f"{script.source}: the call {call.name!r} was not answered")
        try:
            call = play.send(result)
        except StopIteration:
            call = None
    if call is None:
        return None
    return ToolCall(f"call_{len(turns) + 1}", call.name, call.arguments, _dump(call.arguments))


def _dump(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _same_call(script: Script, expected: _Call, turn: Message) -> str:
    """The id of the turn's call, when it is the one that the script makes at this place."""
    recorded = turn.tool_calls[0]
    if (
        len(turn.tool_calls) == 1
        and recorded.name == expected.name
        and recorded.arguments == expected.arguments
    ):
        return recorded.id
    raise CassetteMiss(
        f"{script.source}: the script calls {expected.name} {_dump(expected.arguments)}, but the "
        f"conversation has {recorded.name} {recorded.raw_arguments[:300]}; tool results must be "
        "kept whole"
    )


@dataclass
class _Player:
    """One play of a script, from its start."""

    script: Script
    view: View
    failed: bool = False
    """Whether a check of the step at hand failed."""

    def play(self) -> _Play:
        if self.script.role == "seed":
            yield from self.seed()
        else:
            yield from self.qa()

    # -- the two roles ---------------------------------------------------------------------------

    def qa(self) -> _Play:
        steps = self.script.steps
        for index, step in enumerate(steps):
            self.failed = False
            yield from self.qa_items(step, step.items)
            outcome = "failed" if self.failed else "passed"
            answer = yield _Call("end_step", {"step": step.name, "outcome": outcome})
            if answer.startswith(("ALL STEPS DONE", "STOPPED")):
                break
            if not answer.startswith("NEXT STEP"):
                raise CassetteMiss(f"{self.script.source}: end_step {step.name!r}: {short(answer)}")
            if index + 1 == len(steps) or steps[index + 1].name not in answer:
                raise CassetteMiss(f"{self.script.source}: no such next step: {short(answer)}")
        yield _Call("finish", {})

    def qa_items(self, step: ScriptStep, items: Sequence[Item]) -> Generator[_Call, str, bool]:
        """Whether to go on with the step: False after a fatal failure."""
        for item in items:
            match item:
                case Action():
                    going_on = yield from self.qa_action(step, item)
                case CheckItem():
                    going_on = yield from self.qa_check(step, item)
                case Capture():
                    going_on = yield from self.qa_capture(step, item)
                case When():
                    going_on = yield from self.qa_items(step, self.branch(item))
                case _:
                    assert_never(item)
            if not going_on:
                return False
        return True

    def qa_action(self, step: ScriptStep, action: Action) -> Generator[_Call, str, bool]:
        what = self.view.describe(action)
        arguments = self.view.arguments(action)
        if isinstance(arguments, str):
            # On the second look the element may be there: then it is acted upon after all.
            passed = yield from self.record(
                step, what, arguments, action.non_fatal, lambda: self.view.missing(action)
            )
            if not passed:
                return action.non_fatal is not None
            arguments = self.view.arguments(action)
            if isinstance(arguments, str):
                raise CassetteMiss(f"{self.script.source}: {what}: {arguments}")
        failure = yield from self.act(action, arguments)
        if failure is None:
            return True
        reason = f"could not {what}: {failure}"
        yield from self.record(
            step, what, reason, action.non_fatal, lambda: self.view.again(action, reason)
        )
        return action.non_fatal is not None

    def qa_check(self, step: ScriptStep, check: CheckItem) -> Generator[_Call, str, bool]:
        text = self.view.fill(check.text, keep_unknown=True)
        passed = yield from self.record(
            step,
            text,
            self.view.unmet(check.looks),
            check.non_fatal,
            lambda: self.view.unmet(check.looks),
        )
        return passed or check.non_fatal is not None

    def qa_capture(self, step: ScriptStep, capture: Capture) -> Generator[_Call, str, bool]:
        reason = self.view.capture(capture)
        if reason is None:
            return True
        passed = yield from self.record(
            step,
            f"read {capture.name}",
            reason,
            capture.non_fatal,
            lambda: self.view.capture(capture),
        )
        return passed or capture.non_fatal is not None

    def record(
        self,
        step: ScriptStep,
        check: str,
        reason: str | None,
        quote: str | None,
        look: Callable[[], str | None],
    ) -> Generator[_Call, str, bool]:
        """Record a check until it stands; `look` judges afresh, None for passed."""
        for _ in range(_MAX_LOOKS):
            arguments = {
                "step": step.name,
                "check": check,
                "outcome": "passed" if reason is None else "failed",
                "reason": short(reason or "seen in the last observation"),
            }
            if quote is not None:
                arguments["non_fatal_quote"] = quote
            answer = yield _Call("record_check", arguments)
            if answer.startswith("RECORDED"):
                if quote is not None and "This is fatal" in answer:
                    raise CassetteMiss(
                        f"{self.script.source}: step {step.name!r}: the plan does not make this "
                        f"non-fatal: {quote!r}"
                    )
                self.failed = self.failed or reason is not None
                return reason is None
            if not answer.startswith("LOOK AGAIN"):
                raise CassetteMiss(f"{self.script.source}: record_check {check!r}: {short(answer)}")
            self.view.show(answer)
            reason = look()
        raise CassetteMiss(f"{self.script.source}: asked to look at {check!r} again and again")

    def seed(self) -> _Play:
        reason: str | None = None
        for step in self.script.steps:
            reason = yield from self.seed_items(step.items)
        if reason is None:
            answer = yield _Call("finish_seeding", {"summary": "The scripted seeding was done."})
            if not answer.startswith((ERROR_PREFIX, "REFUSED")):
                return
            reason = f"finish_seeding was refused: {answer}"
        yield _Call("give_up", {"reason": short(reason)})

    def seed_items(self, items: Sequence[Item]) -> Generator[_Call, str, str | None]:
        """Why the seeding cannot go on; None when all was done."""
        for item in items:
            reason: str | None
            match item:
                case Action():
                    arguments = self.view.arguments(item)
                    if isinstance(arguments, str):
                        return arguments
                    failure = yield from self.act(item, arguments)
                    reason = failure and f"could not {self.view.describe(item)}: {failure}"
                case CheckItem():
                    unmet = self.view.unmet(item.looks)
                    reason = unmet and f"{self.view.fill(item.text, keep_unknown=True)}: {unmet}"
                case Capture():
                    reason = self.view.capture(item)
                case When():
                    reason = yield from self.seed_items(self.branch(item))
                case _:
                    assert_never(item)
            if reason is not None:
                return reason
        return None

    def act(
        self, action: Action, arguments: Mapping[str, Any]
    ) -> Generator[_Call, str, str | None]:
        """Make the call; the reason where it failed."""
        answer = yield _Call(action.tool.tool_name, arguments)
        failure = self.view.take_result(action.tool, answer)
        if failure is not None and _STALE.search(failure):
            # The page drew itself anew since the last look, so nothing was done: once more.
            anew = self.view.arguments(action)
            if not isinstance(anew, str):
                answer = yield _Call(action.tool.tool_name, anew)
                failure = self.view.take_result(action.tool, answer)
        return failure

    def branch(self, when: When) -> tuple[Item, ...]:
        return when.then if self.view.unmet(when.looks) is None else when.otherwise
