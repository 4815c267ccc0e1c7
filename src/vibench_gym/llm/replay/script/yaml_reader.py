# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads YAML and reports every mistake with its line, all of them at once.

Works on YAML's nodes, which have line numbers. Aliases are refused: a few lines of them can expand
to gigabytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from vibench_gym.core.errors import Problem, TaskInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DEPTH = 200


def compose(text: str, source: str) -> yaml.Node | None:
    """The document's root node, None for an empty one.

    Raises:
        TaskInvalid: the text is not YAML, has aliases or is nested too deeply.
    """
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise TaskInvalid([Problem(source, _line(event), "aliases are refused")])
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:  # the parser's time grows with the square of the depth
                raise TaskInvalid([Problem(source, _line(event), "nested too deeply")])
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        what = getattr(error, "problem", None) or "not YAML"
        raise TaskInvalid([Problem(source, line, f"not valid YAML: {what}")]) from error


@dataclass
class YamlReader:
    """Reads nodes of one file and gathers problems instead of stopping at the first."""

    source: str
    problems: list[Problem] = field(default_factory=list)

    def problem(self, node: yaml.Node, message: str) -> None:
        """Note what is wrong at a node."""
        self.problems.append(Problem(self.source, _line(node), message))

    def text(self, node: yaml.Node) -> str:
        """A scalar as it is written."""
        if not isinstance(node, yaml.ScalarNode):
            self.problem(node, "a text is expected here")
            return ""
        return str(node.value)

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        """The nodes of a list."""
        if not isinstance(node, yaml.SequenceNode):
            self.problem(node, f"{what}: a list is expected here")
            return []
        return list(node.value)

    def mapping(
        self,
        node: yaml.Node,
        what: str,
        *,
        required: tuple[str, ...] = (),
        allow_empty: bool = False,
    ) -> dict[str, yaml.Node]:
        """The nodes of a mapping by key; repeated and missing keys are noted."""
        if allow_empty and isinstance(node, yaml.ScalarNode) and node.value in {"", "null", "~"}:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.problem(node, f"{what}: `key: value` pairs are expected here")
            return {}
        entries: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in entries:
                self.problem(key_node, f"{key!r} is repeated")
            entries[key] = value_node
        for key in required:
            if key not in entries:
                self.problem(node, f"{what} needs {key!r}")
        return entries

    def only(self, entries: Mapping[str, yaml.Node], allowed: tuple[str, ...]) -> None:
        """Refuse every key that is not allowed."""
        for key, node in entries.items():
            if key not in allowed:
                self.problem(node, f"{key!r} does not belong here; allowed: {', '.join(allowed)}")


def _line(marked: yaml.Node | yaml.Event) -> int:
    mark = marked.start_mark
    return 1 if mark is None else mark.line + 1
