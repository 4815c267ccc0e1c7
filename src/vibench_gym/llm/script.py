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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, assert_never

from vibench_gym.core.errors import CassetteMiss
from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.script_format import (
    Action,
    Capture,
    CheckItem,
    Item,
    Looks,
    Script,
    ScriptStep,
    When,
    load_script,
    parse_script,
)
from vibench_gym.llm.script_tools import SHELL_TOOLS
from vibench_gym.llm.snapshot import Found, Locator, find, snapshot_of
from vibench_gym.llm.template import UnknownPlaceholder, expand, today_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from vibench_gym.llm.base import Message

__all__ = ["ERROR_PREFIX", "Script", "load_script", "next_call", "parse_script"]

ERROR_PREFIX = "ERROR: "
"""How a tool result says in text that the call failed; the tool loop puts it there."""

DONE_TEXT = "Done."
_FINDING_TOOLS = frozenset({"read", "download", "clipboard", *SHELL_TOOLS})
"""Tools whose `Result:` is a finding. Of all others it echoes the script's own words, and a check
that could match these would be a verdict without looking."""
_REASON_CHARS = 600
_DETAIL_CHARS = 100
_SHELL_CHARS = 400
_NO_SNAPSHOT = re.compile(r"^Snapshot: none, (.*)$", re.MULTILINE)
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
    player = _Player(script, today_of(first))
    play = player.play()
    results = {m.tool_call_id: m.text for m in messages if m.role == "tool" and m.tool_call_id}
    made = [message for message in messages if message.role == "assistant" and message.tool_calls]
    call = next(play, None)
    for turn in made:
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
    return ToolCall(f"call_{len(made) + 1}", call.name, call.arguments, _dump(call.arguments))


def _dump(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _same_call(script: Script, expected: _Call, turn: Message) -> str:
    """The id of the turn's call, when it is the one that the script makes at this place."""
    made = turn.tool_calls[0]
    if (
        len(turn.tool_calls) == 1
        and made.name == expected.name
        and made.arguments == expected.arguments
    ):
        return made.id
    raise CassetteMiss(
        f"{script.source}: the script calls {expected.name} {_dump(expected.arguments)}, but the "
        f"conversation has {made.name} {made.raw_arguments[:300]}; tool results must be kept whole"
    )


@dataclass
class _Player:
    """One play of a script, from its start."""

    script: Script
    today: date | None
    captured: dict[str, str] = field(default_factory=dict)
    observation: str = ""
    snapshot: str = ""
    blind: str = "nothing was looked at yet"
    """Why the last observation shows no page; then no check can pass, `not_see` alone neither."""
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
                raise CassetteMiss(
                    f"{self.script.source}: end_step {step.name!r}: {_short(answer)}"
                )
            if index + 1 == len(steps) or steps[index + 1].name not in answer:
                raise CassetteMiss(f"{self.script.source}: no such next step: {_short(answer)}")
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
        what = self.describe(action)
        found = self.arguments(action)
        if isinstance(found, str):
            # On the second look the element may be there: then it is acted upon after all.
            passed = yield from self.record(
                step, what, found, action.non_fatal, lambda: self.missing(action)
            )
            if not passed:
                return action.non_fatal is not None
            found = self.arguments(action)
            if isinstance(found, str):
                raise CassetteMiss(f"{self.script.source}: {what}: {found}")
        failure = yield from self.act(action, found)
        if failure is None:
            return True
        reason = f"could not {what}: {failure}"
        yield from self.record(
            step, what, reason, action.non_fatal, lambda: self.again(action, reason)
        )
        return action.non_fatal is not None

    def qa_check(self, step: ScriptStep, check: CheckItem) -> Generator[_Call, str, bool]:
        text = self.fill(check.text, keep_unknown=True)
        passed = yield from self.record(
            step, text, self.unmet(check.looks), check.non_fatal, lambda: self.unmet(check.looks)
        )
        return passed or check.non_fatal is not None

    def qa_capture(self, step: ScriptStep, capture: Capture) -> Generator[_Call, str, bool]:
        reason = self.keep(capture)
        if reason is None:
            return True
        passed = yield from self.record(
            step, f"read {capture.name}", reason, capture.non_fatal, lambda: self.keep(capture)
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
                "reason": _short(reason or "seen in the last observation"),
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
                raise CassetteMiss(
                    f"{self.script.source}: record_check {check!r}: {_short(answer)}"
                )
            self.see(answer)
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
        yield _Call("give_up", {"reason": _short(reason)})

    def seed_items(self, items: Sequence[Item]) -> Generator[_Call, str, str | None]:
        """Why the seeding cannot go on; None when all was done."""
        for item in items:
            reason: str | None
            match item:
                case Action():
                    found = self.arguments(item)
                    if isinstance(found, str):
                        return found
                    failure = yield from self.act(item, found)
                    reason = failure and f"could not {self.describe(item)}: {failure}"
                case CheckItem():
                    unmet = self.unmet(item.looks)
                    reason = unmet and f"{self.fill(item.text, keep_unknown=True)}: {unmet}"
                case Capture():
                    reason = self.keep(item)
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
        answer = yield _Call(action.tool, arguments)
        failure = self.take(action.tool, answer)
        if failure is not None and _STALE.search(failure):
            # The page drew itself anew since the last look, so nothing was done: once more.
            anew = self.arguments(action)
            if not isinstance(anew, str):
                answer = yield _Call(action.tool, anew)
                failure = self.take(action.tool, answer)
        return failure

    # -- what the conversation shows -------------------------------------------------------------

    def take(self, tool: str, answer: str) -> str | None:
        """Keep what a tool returned; the reason where it failed."""
        if answer.startswith("REFUSED"):
            return _short(answer)
        body = answer.removeprefix(ERROR_PREFIX)
        self.see(body, whole=tool in _FINDING_TOOLS)
        if body == answer:
            return None
        said = body[:_SHELL_CHARS] if tool in SHELL_TOOLS else body.partition("\n")[0]
        return _short(said.removeprefix("Result: ").removeprefix("error: "))

    def see(self, text: str, *, whole: bool = False) -> None:
        snapshot = snapshot_of(text)
        if snapshot is not None:
            self.snapshot = snapshot
        none = _NO_SNAPSHOT.search(text)
        self.blind = none[1] if none else ""
        if not whole:
            page = re.search(r"^Page: ", text, re.MULTILINE)
            text = text[page.start() :] if page else text.partition("\n")[2]
        self.observation = text

    def unmet(self, looks: Looks) -> str | None:
        """Which pattern the last observation does not satisfy, None when all do."""
        if self.blind:
            return f"nothing to see: {self.blind}"
        try:
            return self.unmet_pattern(looks)
        except UnknownPlaceholder as error:
            return str(error)

    def unmet_pattern(self, looks: Looks) -> str | None:
        for pattern in looks.see:
            if not re.search(self.regex(pattern), self.observation, re.MULTILINE):
                return f"not seen: /{self.fill(pattern)}/ in {self.shown()}"
        for pattern in looks.not_see:
            seen = re.search(self.regex(pattern), self.observation, re.MULTILINE)
            if seen:
                return f"seen, but should not be: {seen[0][:200]!r} (/{self.fill(pattern)}/)"
        return None

    def shown(self) -> str:
        page = re.search(r"^Page: (\S+)", self.observation, re.MULTILINE)
        return f"the page {page[1][:200]}" if page else "the last result"

    def branch(self, when: When) -> tuple[Item, ...]:
        return when.then if self.unmet(when.looks) is None else when.otherwise

    def keep(self, capture: Capture) -> str | None:
        try:
            match = re.search(self.regex(capture.pattern), self.observation, re.MULTILINE)
        except UnknownPlaceholder as error:
            return f"could not read {capture.name}: {error}"
        if match is None or match[1] is None:
            return (
                f"could not read {capture.name}: no match of /{capture.pattern}/ in {self.shown()}"
            )
        self.captured[capture.name] = match[1]
        return None

    # -- arguments -------------------------------------------------------------------------------

    def arguments(self, action: Action) -> dict[str, Any] | str:
        """The call's arguments with refs from the last snapshot, or why it cannot be made."""
        try:
            filled = self.fill_value(action.arguments, keep_unknown=action.tool in SHELL_TOOLS)
            arguments: dict[str, Any] = dict(filled)
            for name, locator in action.locators.items():
                found = self.locate(locator)
                if found.ref is None:
                    return f"could not {self.describe(action)}: {found.reason}"
                arguments[name] = found.ref
        except UnknownPlaceholder as error:
            return f"could not {self.describe(action)}: {error}"
        return arguments

    def missing(self, action: Action) -> str | None:
        found = self.arguments(action)
        return found if isinstance(found, str) else None

    def again(self, action: Action, reason: str) -> str:
        """Why a failed call still counts as failed at the second look: nothing was done since."""
        return self.missing(action) or f"{reason} (the element is there at the second look)"

    def locate(self, locator: Locator) -> Found:
        def fill(text: str | None) -> str | None:
            return None if text is None else self.fill(text)

        near = locator.near
        bound = replace(
            locator,
            name=fill(locator.name),
            pattern=None if locator.pattern is None else self.regex(locator.pattern),
            near=self.regex(near) if near and near.startswith("/") else fill(near),
        )
        return find(bound, self.snapshot)

    def describe(self, action: Action) -> str:
        targets = " to ".join(str(locator) for locator in action.locators.values())
        detail = next((str(value) for value in action.arguments.values()), "")[:_DETAIL_CHARS]
        text = f"{action.tool} {targets or detail}".strip()
        try:
            return self.fill(text, keep_unknown=True)
        except UnknownPlaceholder:
            return text

    def fill(self, text: str, *, keep_unknown: bool = False) -> str:
        return expand(text, today=self.today, captured=self.captured, keep_unknown=keep_unknown)

    def regex(self, pattern: str) -> str:
        return expand(pattern, today=self.today, captured=self.captured, escape=re.escape)

    def fill_value(self, value: Any, *, keep_unknown: bool) -> Any:
        if isinstance(value, str):
            return self.fill(value, keep_unknown=keep_unknown)
        if isinstance(value, list):
            return [self.fill_value(entry, keep_unknown=keep_unknown) for entry in value]
        if isinstance(value, Mapping):
            return {
                key: self.fill_value(entry, keep_unknown=keep_unknown)
                for key, entry in value.items()
            }
        return value


def _short(text: str) -> str:
    return text if len(text) <= _REASON_CHARS else text[: _REASON_CHARS - 1] + "…"
