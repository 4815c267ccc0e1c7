# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a script has seen so far: the last observation, its snapshot, and captured values.

Only what the tools showed counts. The `Result:` line of an action is dropped, because it repeats
the script's own words: a check that matched them would be a verdict without looking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vibench_gym.llm.base import ERROR_PREFIX
from vibench_gym.llm.replay.script.snapshot import Locator, Match, find, snapshot_of
from vibench_gym.llm.replay.script.template import UnknownPlaceholder, expand

if TYPE_CHECKING:
    from datetime import date

    from vibench_gym.core.toolset import Tool
    from vibench_gym.llm.replay.script.items import Action, Capture, Looks

_REASON_CHARS = 600
_DETAIL_CHARS = 100
_SHELL_CHARS = 400
_NO_SNAPSHOT = re.compile(r"^Snapshot: none, (.*)$", re.MULTILINE)


@lru_cache(maxsize=1024)
def _search(pattern: str, text: str) -> re.Match[str] | None:
    """As `re.search`; remembered, because every request plays the conversation from its start."""
    return re.search(pattern, text, re.MULTILINE)


@dataclass
class View:
    """One play's view of its conversation."""

    today: date | None
    captured: dict[str, str] = field(default_factory=dict)
    observation: str = ""
    snapshot: str = ""
    blind: str = "nothing was looked at yet"
    """Why the last observation shows no page; then no check can pass, `not_see` alone neither."""

    def take_result(self, tool: type[Tool], answer: str) -> str | None:
        """Take a tool's result as the last observation; the reason if the call failed."""
        if answer.startswith("REFUSED"):
            return short(answer)
        body = answer.removeprefix(ERROR_PREFIX)
        self.show(body, whole=tool.result_is_finding)
        if body == answer:
            return None
        reason = body[:_SHELL_CHARS] if tool.for_shell else body.partition("\n")[0]
        return short(reason.removeprefix("Result: ").removeprefix("error: "))

    def show(self, text: str, *, whole: bool = False) -> None:
        """Take an observation's text as the last one; `whole` keeps its `Result:` as well."""
        snapshot = snapshot_of(text)
        if snapshot is not None:
            self.snapshot = snapshot
        no_page = _NO_SNAPSHOT.search(text)
        self.blind = no_page[1] if no_page else ""
        if not whole:
            page = re.search(r"^Page: ", text, re.MULTILINE)
            text = text[page.start() :] if page else text.partition("\n")[2]
        self.observation = text

    def unmet(self, looks: Looks) -> str | None:
        """Which pattern the last observation does not satisfy, None when all do."""
        if self.blind:
            return f"nothing to see: {self.blind}"
        try:
            return self._unmet_pattern(looks)
        except UnknownPlaceholder as error:
            return str(error)

    def _unmet_pattern(self, looks: Looks) -> str | None:
        for pattern in looks.see:
            if not _search(self._regex(pattern), self.observation):
                return f"not seen: /{self.fill(pattern)}/ in {self._shown()}"
        for pattern in looks.not_see:
            match = _search(self._regex(pattern), self.observation)
            if match:
                return f"seen, but should not be: {match[0][:200]!r} (/{self.fill(pattern)}/)"
        return None

    def _shown(self) -> str:
        page = re.search(r"^Page: (\S+)", self.observation, re.MULTILINE)
        return f"the page {page[1][:200]}" if page else "the last result"

    def capture(self, capture: Capture) -> str | None:
        """Capture a value from the last observation; the reason where it is not there."""
        try:
            match = _search(self._regex(capture.pattern), self.observation)
        except UnknownPlaceholder as error:
            return f"could not read {capture.name}: {error}"
        if match is None or match[1] is None:
            return (
                f"could not read {capture.name}: no match of /{capture.pattern}/ in {self._shown()}"
            )
        self.captured[capture.name] = match[1]
        return None

    def arguments(self, action: Action) -> dict[str, Any] | str:
        """The call's arguments with refs from the last snapshot, or why it cannot be made."""
        try:
            filled = self._fill_value(action.arguments, keep_unknown=action.tool.for_shell)
            arguments: dict[str, Any] = dict(filled)
            for name, locator in action.locators.items():
                match = self._locate(locator)
                if match.ref is None:
                    return f"could not {self.describe(action)}: {match.reason}"
                arguments[name] = match.ref
        except UnknownPlaceholder as error:
            return f"could not {self.describe(action)}: {error}"
        return arguments

    def missing(self, action: Action) -> str | None:
        """Why the action's call cannot be made now, None if it can."""
        arguments = self.arguments(action)
        return arguments if isinstance(arguments, str) else None

    def again(self, action: Action, reason: str) -> str:
        """Why a failed call still counts as failed at the second look: nothing was done since."""
        if not action.locators:
            return reason
        return self.missing(action) or f"{reason} (the element is there at the second look)"

    def _locate(self, locator: Locator) -> Match:
        def fill(text: str | None) -> str | None:
            return None if text is None else self.fill(text)

        near = locator.near
        bound = replace(
            locator,
            name=fill(locator.name),
            pattern=None if locator.pattern is None else self._regex(locator.pattern),
            near=self._regex(near) if near and near.startswith("/") else fill(near),
        )
        return find(bound, self.snapshot)

    def describe(self, action: Action) -> str:
        """The action in words, for a check's text."""
        targets = " to ".join(str(locator) for locator in action.locators.values())
        detail = next((str(value) for value in action.arguments.values()), "")[:_DETAIL_CHARS]
        text = f"{action.tool.tool_name} {targets or detail}".strip()
        try:
            return self.fill(text, keep_unknown=True)
        except UnknownPlaceholder:
            return text

    def fill(self, text: str, *, keep_unknown: bool = False) -> str:
        """The text with dates and captured values."""
        return expand(text, today=self.today, captured=self.captured, keep_unknown=keep_unknown)

    def _regex(self, pattern: str) -> str:
        return expand(pattern, today=self.today, captured=self.captured, escape=re.escape)

    def _fill_value(self, value: Any, *, keep_unknown: bool) -> Any:
        if isinstance(value, str):
            return self.fill(value, keep_unknown=keep_unknown)
        if isinstance(value, list):
            return [self._fill_value(entry, keep_unknown=keep_unknown) for entry in value]
        if isinstance(value, Mapping):
            return {
                key: self._fill_value(entry, keep_unknown=keep_unknown)
                for key, entry in value.items()
            }
        return value


def short(text: str) -> str:
    """The text, cut to what a reason may hold."""
    return text if len(text) <= _REASON_CHARS else text[: _REASON_CHARS - 1] + "…"
