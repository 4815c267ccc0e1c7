# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the small parts of a script: regexes, locators and values, with their `${...}`.

A mistake in one of them is noted with its line, like every other problem of a script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from vibench_gym.llm.replay.script.items import Looks
from vibench_gym.llm.replay.script.snapshot import Locator, LocatorSyntax
from vibench_gym.llm.replay.script.template import placeholders, unknown_placeholders
from vibench_gym.llm.replay.script.yaml_reader import YamlReader

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class ExpressionReader(YamlReader):
    """Reads nodes that hold an expression; `captured` are the names known so far."""

    captured: set[str] = field(default_factory=set)

    def locator(self, node: yaml.Node) -> Locator | None:
        """The element that a node names, None for a mistake."""
        near: str | None = None
        nth = 1
        if isinstance(node, yaml.MappingNode):
            entries = self.mapping(node, "a locator", required=("find",))
            self.only(entries, ("find", "near", "nth"))
            near = self.text(entries["near"]) if "near" in entries else None
            number = self.value(entries["nth"]) if "nth" in entries else 1
            if type(number) is not int or number < 1:
                self.problem(node, f"nth is {number!r}; it counts from 1")
            else:
                nth = number
            if "find" not in entries:
                return None
            node = entries["find"]
        text = self.text(node)
        self.placeholders(node, text + (near or ""))
        try:
            return Locator.parse(text, near=near, nth=nth)
        except LocatorSyntax as error:
            self.problem(node, str(error))
            return None

    def looks(self, entries: Mapping[str, yaml.Node]) -> Looks:
        """The patterns of an item's `see` and `not_see`."""
        see = self.patterns(entries["see"]) if "see" in entries else ()
        return Looks(see, self.patterns(entries["not_see"]) if "not_see" in entries else ())

    def patterns(self, node: yaml.Node) -> tuple[str, ...]:
        """One regex, or a list of them."""
        if isinstance(node, yaml.ScalarNode):
            return (self.pattern(node),)
        return tuple(self.pattern(entry) for entry in self.sequence(node, "a list of regexes"))

    def pattern(self, node: yaml.Node) -> str:
        """A regex that compiles and does not match everything."""
        text = self.text(node)
        self.placeholders(node, text)
        if not text:
            self.problem(node, "an empty regex matches everything")
        try:
            compiled = re.compile(placeholders(text, lambda _: "x"), re.MULTILINE)
            if text and compiled.search("") is not None:
                self.problem(
                    node, f"the regex {text!r} matches the empty text: it looks at nothing"
                )
        except re.error as error:
            self.problem(node, f"bad regex {text!r}: {error}")
        return text

    def placeholders(self, node: yaml.Node, text: str) -> None:
        """Note every `${...}` that has no value here."""
        for name in unknown_placeholders(text, self.captured):
            self.problem(node, f"${{{name}}} is neither a date nor captured before this line")

    def value(self, node: yaml.Node, *, free: bool = False, as_written: bool = False) -> Any:
        """JSON of a node; `as_written` keeps 007 a text, `free` allows the shell's `${HOME}`."""
        if isinstance(node, yaml.SequenceNode):
            return [self.value(entry, free=free, as_written=as_written) for entry in node.value]
        if isinstance(node, yaml.MappingNode):
            entries = self.mapping(node, "a value", allow_empty=True)
            return {key: self.value(entry, free=free) for key, entry in entries.items()}
        value = node.value if as_written else yaml.SafeLoader("").construct_object(node, deep=True)
        if isinstance(value, str) and not free:
            self.placeholders(node, value)
        if not isinstance(value, str | int | float | bool | None):
            return node.value  # an unquoted date stays what was written
        return value


def compiled_pattern(pattern: str) -> re.Pattern[str] | None:
    """The regex with its `${...}` filled in by a letter; None for a bad one."""
    try:
        return re.compile(placeholders(pattern, lambda _: "x"), re.MULTILINE)
    except re.error:
        return None
