# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the accessibility snapshot in an observation, so that scripts name elements as people do.

The text is Playwright's AI snapshot: one node a line, nested by indentation. It shows a hostile
page, so parsing never fails: a line that is not a node is skipped. Only elements with a ref can be
acted upon.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NODES = 20_000
_SHOWN_NAMES = 8
_SHOWN_CHARS = 60
_VALUE_ROLES = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})

_SNAPSHOT_LINE = re.compile(r"^Snapshot:(.*)$", re.MULTILINE)
_LINE = re.compile(r"^(?P<indent> *)- (?P<body>\S.*)$")
_QUOTED_KEY = re.compile(r"'(?P<key>(?:[^']|'')*)'(?P<rest>:.*)?$")
_NODE = re.compile(
    r"(?P<role>/?[A-Za-z][\w-]*)"
    r'(?: (?P<name>"(?:[^"\\]|\\.)*"))?'
    r"(?P<attributes>(?: \[[^\]]*+\])*+)"
    r"(?P<rest>:(?: .*)?)?$"
)
_REF = re.compile(r"\[ref=([\w-]+)\]")
_LOCATOR = re.compile(
    r'(?P<role>[a-z]+)(?:\s+(?:(?P<name>"(?:[^"\\]|\\.)*")|/(?P<pattern>.+)/))?$', re.DOTALL
)


@dataclass(slots=True, eq=False)
class Node:
    """One line of a snapshot with what is nested below it."""

    role: str
    name: str
    value: str
    ref: str | None
    depth: int
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What a reader would call it: its name, else the text directly in it."""
        return self.name or ("" if self.role in _VALUE_ROLES else self.value)

    def walk(self) -> Iterator[Node]:
        """The node and everything below it, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def lines(self) -> list[str]:
        """Names and texts in the subtree, one each."""
        return [part for node in self.walk() for part in (node.name, node.value) if part]


class LocatorSyntax(ValueError):
    """A locator string that is neither `role`, `role "name"` nor `role /regex/`."""


@dataclass(frozen=True, slots=True)
class Locator:
    """Names one element: role, exact name or pattern, a text near it, and which of several."""

    role: str
    name: str | None = None
    pattern: str | None = None
    near: str | None = None
    nth: int = 1

    @classmethod
    def parse(cls, text: str, *, near: str | None = None, nth: int = 1) -> Locator:
        """Read a locator string.

        Raises:
            LocatorSyntax: the string has another form, or a regex that does not compile.
        """
        match = _LOCATOR.fullmatch(text.strip())
        if match is None:
            raise LocatorSyntax(
                f'{text!r} is not a locator: write role, role "name" or role /regex/'
            )
        name: str | None = None
        if match["name"] is not None:
            try:
                name = str(json.loads(match["name"], strict=False))
            except ValueError as error:
                raise LocatorSyntax(f"{text!r}: bad escape in the quoted name") from error
        if match["pattern"] is not None:
            _compiled(match["pattern"], text)
        if near is not None and (pattern := _near_pattern(near)) is not None:
            _compiled(pattern, near)
        return cls(match["role"], name, match["pattern"], near, nth)

    def __str__(self) -> str:
        text = self.role
        if self.name is not None:
            text += f" {json.dumps(self.name, ensure_ascii=False)}"
        elif self.pattern is not None:
            text += f" /{self.pattern}/"
        if self.near is not None:
            text += f" near {json.dumps(self.near, ensure_ascii=False)}"
        return text if self.nth == 1 else f"{text} (number {self.nth})"

    def matches(self, node: Node) -> bool:
        """Whether role and name fit; nearness is decided among all that do."""
        if node.role != self.role:
            return False
        if self.name is not None:
            return node.label.strip() == self.name.strip()
        return self.pattern is None or re.search(self.pattern, node.label) is not None


@dataclass(frozen=True, slots=True)
class Match:
    """What a locator matched: the ref of the element, or the reason why there is none."""

    ref: str | None
    reason: str = ""


def _compiled(pattern: str, source: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise LocatorSyntax(f"{source!r}: bad regex: {error}") from error


def _near_pattern(near: str) -> str | None:
    if len(near) > 2 and near.startswith("/") and near.endswith("/"):  # noqa: PLR2004 - "//"
        return near[1:-1]
    return None


def snapshot_of(text: str) -> str | None:
    """The snapshot inside an observation's text, None where it does not tell of any.

    Empty where it says that there is none: what was on the page before is gone as well.
    """
    line = _SNAPSHOT_LINE.search(text)
    if line is None:
        return None
    return "" if line[1].strip() else text[line.end() + 1 :]


@lru_cache(maxsize=256)
def parse_snapshot(text: str) -> Node:
    """Read a snapshot into a tree below a root without a role; it is shared, do not change it."""
    root = Node("", "", "", None, -1)
    current = root
    count = 0
    for line in text.splitlines():
        node = _parse_line(line)
        if node is None:
            continue
        count += 1
        if count > MAX_NODES:
            break
        while current.depth >= node.depth and current.parent is not None:
            current = current.parent
        node.parent = current
        current.children.append(node)
        current = node
    return root


def _parse_line(line: str) -> Node | None:
    outer = _LINE.match(line)
    if outer is None:
        return None
    body = outer["body"]
    quoted = _QUOTED_KEY.match(body)
    if quoted is not None:
        body = quoted["key"].replace("''", "'") + (quoted["rest"] or "")
    match = _NODE.match(body)
    if match is None:
        return None
    ref = _REF.search(match["attributes"])
    return Node(
        role=match["role"],
        name=_unquote(match["name"] or ""),
        value=_unquote((match["rest"] or ":")[1:].strip()),
        ref=ref[1] if ref else None,
        depth=len(outer["indent"]),
    )


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':  # noqa: PLR2004 - two quotes
        # YAML writes some characters as \xNN, which JSON does not know.
        as_json = re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", text)
        try:
            return str(json.loads(as_json, strict=False))
        except ValueError:
            return text[1:-1]
    if len(text) >= 2 and text[0] == text[-1] == "'":  # noqa: PLR2004 - two quotes
        return text[1:-1].replace("''", "'")
    return text


@lru_cache(maxsize=2048)
def find(locator: Locator, snapshot: str) -> Match:
    """Resolve a locator in a snapshot's text, or say what is there instead."""
    root = parse_snapshot(snapshot)
    candidates = [node for node in root.walk() if locator.matches(node)]
    if not candidates:
        return Match(
            None, f"no {_plain(locator)} in the snapshot; {_elements_there(locator, root)}"
        )
    if locator.near is not None:
        candidates = _nearest(candidates, locator.near)
        if not candidates:
            return Match(None, f"no text {locator.near!r} in the snapshot near a {_plain(locator)}")
    if len(candidates) < locator.nth:
        return Match(None, f"only {len(candidates)} of {locator} in the snapshot")
    chosen = candidates[locator.nth - 1]
    if chosen.ref is None:
        return Match(None, f"{locator} is in the snapshot but cannot be acted upon (it has no ref)")
    return Match(chosen.ref)


def _nearest(candidates: list[Node], near: str) -> list[Node]:
    """Those in the smallest subtree that also contains the text, in document order."""
    sized = [
        (size, node) for node in candidates if (size := _smallest_with(node, near)) is not None
    ]
    best = min((size for size, _ in sized), default=0)
    return [node for size, node in sized if size == best]


def _smallest_with(node: Node, near: str) -> int | None:
    pattern = _near_pattern(near)
    around: Node | None = node
    while around is not None:
        lines = around.lines()
        if pattern is None:
            if near in " ".join(lines):
                return sum(1 for _ in around.walk())
        elif re.search(pattern, "\n".join(lines), re.MULTILINE):
            return sum(1 for _ in around.walk())
        around = around.parent
    return None


def _plain(locator: Locator) -> str:
    return str(Locator(locator.role, locator.name, locator.pattern))


def _elements_there(locator: Locator, root: Node) -> str:
    labels = [node.label for node in root.walk() if node.role == locator.role]
    if not labels:
        roles = sorted({node.role for node in root.walk() if node.ref is not None})
        shown = ", ".join(roles[:_SHOWN_NAMES]) or "nothing"
        return f"no {locator.role} at all; roles there: {shown}"
    shown = ", ".join(
        json.dumps(label[:_SHOWN_CHARS], ensure_ascii=False) for label in labels[:_SHOWN_NAMES]
    )
    more = len(labels) - _SHOWN_NAMES
    return f"{locator.role}s there: {shown}" + (f" and {more} more" if more > 0 else "")
