# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the tags of the plan format in free text and nests them.

Only the eight tags below are structure, and only where the format allows them; one anywhere else
is reported with its line. Time and memory are linear in the text's length.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from vibench_gym.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

PARENTS = {
    "test_plan": "",
    "purpose": "test_plan",
    "seeding_and_precondition": "test_plan",
    "steps": "test_plan",
    "full_points": "test_plan",
    "step": "steps",
    "name": "step",
    "points": "step",
}
_SPACE = "\ufeff \t\n\v\f"
KNOWN_TAG = re.compile(rf"<(/?)({'|'.join(PARENTS)})[ \t]*>")
MAX_PROBLEMS = 50
"""Per plan; a file that is not a plan at all shall not fill the screen."""


@dataclass(slots=True)
class Node:
    """One element: the tag's offset, where its content starts and ends, what is nested in it."""

    tag: str
    start: int
    inner: int
    end: int = -1
    after: int = -1
    children: list[Node] = field(default_factory=list)

    def all(self, tag: str) -> list[Node]:
        """The children of that tag, in order."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Node | None:
        """The first child of that tag."""
        return next((child for child in self.children if child.tag == tag), None)


class Scan:
    """The element tree of one text, and the problems found so far."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.root = Node("", 0, 0, len(text), len(text))
        self.problems: list[Problem] = []
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_left(self._line_ends, max(offset, 0)) + 1

    def report(
        self, offset: int, message: str, severity: Literal["error", "warning"] = "error"
    ) -> None:
        """Add a problem at an offset."""
        self.report_line(self.line(offset), message, severity)

    def report_line(
        self, line: int, message: str, severity: Literal["error", "warning"] = "error"
    ) -> None:
        """Add a problem at a line; those beyond MAX_PROBLEMS are not kept."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self.source, line, message, severity))

    @property
    def has_errors(self) -> bool:
        """Whether anything so far makes the plan invalid."""
        return any(problem.severity == "error" for problem in self.problems)

    def case_hint(self, tag: str, start: int, end: int) -> str:
        """Where a tag was looked for in vain and stands in other letters: a hint, else nothing.

        `tag` is a name, with a slash before it for an end. Elsewhere such a word is text.
        """
        if len(self.problems) >= MAX_PROBLEMS:
            return ""
        pattern = re.compile(rf"<{tag}[ \t]*>", re.IGNORECASE)
        for match in pattern.finditer(self.text, start, end):
            if not match.group().islower():
                line = self.line(match.start())
                return f"; line {line} has {match.group()}: tags are in small letters"
        return ""

    def own_text(self, node: Node) -> str:
        """The node's text without its children, line ends as LF, outer white space removed."""
        return self.own_lines(node).strip(_SPACE)

    def own_lines(self, node: Node) -> str:
        """The same, but the first line keeps its indent, which tells what is listed below what."""
        parts = (part for _, part in self._own_parts(node))
        joined = "".join(part.rstrip() + "\n" if part.strip() else "" for part in parts)
        lines = joined.replace("\r\n", "\n").replace("\r", "\n").rstrip(_SPACE)
        return lines[lines.rfind("\n", 0, len(lines) - len(lines.lstrip(_SPACE))) + 1 :]

    def own_start(self, node: Node) -> int:
        """The offset of the first character of the node's own text, which must not be empty."""
        return next(
            offset + len(part) - len(text)
            for offset, part in self._own_parts(node)
            if (text := part.lstrip(_SPACE))
        )

    def _own_parts(self, node: Node) -> Iterator[tuple[int, str]]:
        position = node.inner
        for child in node.children:
            yield position, self.text[position : child.start]
            position = child.after
        yield position, self.text[position : node.end]


def scan_tags(text: str, source: str) -> Scan:
    """Nest the known tags of a text; what does not nest is reported and repaired."""
    scan = Scan(text, source)
    if text.startswith("\ufeff"):
        scan.report(0, "starts with a byte order mark (harmless; save as plain UTF-8)", "warning")
    if "\r" in text:
        message = "has CRLF line ends (harmless; they are read as LF)"
        scan.report(text.index("\r"), message, "warning")
    stack = [scan.root]
    for match in KNOWN_TAG.finditer(text):
        if match.group(1):
            _close(scan, stack, match)
        else:
            _open(scan, stack, match)
    for node in reversed(stack[1:]):
        _end(scan, node, len(text), len(text), closed=False)
    return scan


def _open(scan: Scan, stack: list[Node], match: re.Match[str]) -> None:
    tag, start = match.group(2), match.start()
    wanted = PARENTS[tag]
    if stack[-1].tag != wanted:
        if all(node.tag != wanted for node in stack):
            hint = scan.case_hint(wanted, stack[-1].inner, start)
            scan.report(start, f"<{tag}> is out of place: it belongs in <{wanted}>{hint}")
            return
        while stack[-1].tag != wanted:
            _end(scan, stack.pop(), start, start, closed=False)
    node = Node(tag, start, match.end())
    stack[-1].children.append(node)
    stack.append(node)


def _close(scan: Scan, stack: list[Node], match: re.Match[str]) -> None:
    tag, start = match.group(2), match.start()
    if all(node.tag != tag for node in stack):
        hint = scan.case_hint(tag, stack[-1].inner, start)
        scan.report(start, f"</{tag}> closes nothing{hint}")
        return
    while stack[-1].tag != tag:
        _end(scan, stack.pop(), start, start, closed=False)
    _end(scan, stack.pop(), start, match.end(), closed=True)


def _end(scan: Scan, node: Node, end: int, after: int, *, closed: bool) -> None:
    node.end, node.after = end, after
    if not closed:
        line = scan.line(end)
        hint = scan.case_hint(f"/{node.tag}", node.inner, end)
        scan.report(node.start, f"<{node.tag}> is not closed before line {line}{hint}")
