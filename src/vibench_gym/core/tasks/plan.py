# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Test plans: the only place where points live.

Plans are tagged prose, not XML: an unknown `<word>` is text. The text stays available byte for
byte, because it alone decides what is fatal (scoring.md, rule 2). `plan_tags` finds the tags;
this module turns them into a `TestPlan` or into problems with file and line.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from vibench_gym.core.errors import Problem
from vibench_gym.core.tasks.plan_tags import Node, Scan, scan_tags

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PLAN_BYTES = 1024 * 1024
MAX_POINTS = 1_000_000
_POINTS = re.compile(r"[0-9]{1,7}")
_NOT_APPLICABLE = re.compile(r"\W*n/a(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its points are earned as a whole or not at all."""

    name: str
    prose: str
    points: int
    line: int = 0
    """Where the step starts in its file."""


@dataclass(frozen=True)
class TestPlan:
    """A usable plan: it has steps, their names differ, and there are points to earn."""

    __test__ = False  # pytest collects classes by this prefix

    id: str
    source: str
    """Path of the file, relative to the task root, with forward slashes."""
    text: str
    purpose: str
    precondition: str
    steps: tuple[Step, ...]
    declared: int | None
    """What `<full_points>` says; differs from `full_points` only in a known exception."""
    notes: str = ""
    """Prose that stands beside the sections; the QA agent is shown it."""

    @cached_property
    def full_points(self) -> int:
        """Sum of the points that are there."""
        return sum(step.points for step in self.steps)

    @cached_property
    def needs_seeding(self) -> bool:
        """Whether the precondition asks for a starting state; text after N/A does not."""
        return _NOT_APPLICABLE.match(self.precondition) is None

    @cached_property
    def sha256(self) -> str:
        """Digest of the plan's bytes."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def stem(self) -> str:
        """The file's name without its ending."""
        return PurePosixPath(self.source).stem

    def step(self, name: str) -> Step:
        """The step of that name.

        Raises:
            KeyError: the plan has no such step.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(name)


def decode_plan(data: bytes, source: str) -> tuple[str | None, list[Problem]]:
    """The text of a plan's bytes; None, and the reason, where they are no UTF-8 or too many."""
    if len(data) > MAX_PLAN_BYTES:
        return None, [Problem(source, 1, f"is larger than {MAX_PLAN_BYTES} bytes")]
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        return None, [Problem(source, line, f"is not UTF-8: byte 0x{byte:02x}")]


def scan_plan(text: str, source: str, plan_id: str) -> tuple[TestPlan | None, list[Problem]]:
    """Read a plan tolerantly.

    The plan is None when it could not be graded even as a known exception: no steps, two steps of
    one name, or nothing to earn. Problems of severity `error` make it invalid (rule 1).
    """
    if len(text) > MAX_PLAN_BYTES:
        return None, [Problem(source, 1, f"is larger than {MAX_PLAN_BYTES} bytes")]
    reader = _PlanReader(scan_tags(text, source))
    return reader.plan(plan_id), reader.scan.problems


class _PlanReader:
    """Turns the tags of one scan into a plan, adding to the scan's problems."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    def plan(self, plan_id: str) -> TestPlan | None:
        scan = self.scan
        root = self._only(scan.root, "test_plan")
        if root is None:
            scan.report(0, f"has no <test_plan>{self._hint(scan.root, 'test_plan')}")
            return None
        if scan.own_text(scan.root):
            start = scan.own_start(scan.root)
            scan.report(start, "text outside <test_plan> is ignored", "warning")
        purpose = self._text_of(root, "purpose")
        precondition = self._text_of(root, "seeding_and_precondition")
        if precondition == "":
            where = root.first("seeding_and_precondition")
            scan.report(where.start if where else root.start, "empty precondition: write N/A")
        steps, missing = self._steps(root)
        declared = self._declared(root)
        usable = self._distinct(steps)
        self._compare(root, steps, declared, missing)
        if not usable:
            return None
        return TestPlan(
            id=plan_id,
            source=scan.source,
            text=scan.text,
            purpose=purpose,
            precondition=precondition,
            steps=tuple(steps),
            declared=declared,
            notes=scan.own_text(root),
        )

    def _text_of(self, parent: Node, tag: str) -> str:
        node = self._only(parent, tag)
        if node is None:
            message = f"<{parent.tag}> has no <{tag}>{self._hint(parent, tag)}"
            self.scan.report(parent.start, message)
            return "" if tag != "seeding_and_precondition" else "?"
        return self.scan.own_text(node)

    def _hint(self, parent: Node, tag: str) -> str:
        """For a tag that a parent lacks: whether it is there in other letters."""
        return self.scan.case_hint(tag, parent.inner, parent.end)

    def _only(self, parent: Node, tag: str) -> Node | None:
        nodes = parent.all(tag)
        for extra in nodes[1:]:
            self.scan.report(extra.start, f"second <{tag}> in one <{parent.tag or 'file'}>")
        return nodes[0] if nodes else None

    def _steps(self, root: Node) -> tuple[list[Step], list[tuple[int, str]]]:
        """The steps, and of those whose points are not given at all the offset and a message."""
        scan = self.scan
        node = self._only(root, "steps")
        if node is None:
            return [], []
        if scan.own_text(node):
            scan.report(scan.own_start(node), "text between steps belongs in a <step>")
        steps: list[Step] = []
        missing: list[tuple[int, str]] = []
        for child in node.all("step"):
            name = " ".join(self._text_of(child, "name").split())
            if not name and child.first("name"):
                scan.report(child.start, "step has an empty <name>")
            points = self._only(child, "points")
            if points is None:
                missing.append(
                    (child.start, f"{name!r} has no <points>{self._hint(child, 'points')}")
                )
            value = self._whole_number(points) if points else None
            steps.append(Step(name, scan.own_lines(child), value or 0, scan.line(child.start)))
        return steps, missing

    def _whole_number(self, node: Node) -> int | None:
        text = self.scan.own_text(node)
        if _POINTS.fullmatch(text) is None or int(text) > MAX_POINTS:
            message = f"<{node.tag}> is no whole number from 0 to {MAX_POINTS}: {text[:40]!r}"
            self.scan.report(node.start, message)
            return None
        return int(text)

    def _declared(self, root: Node) -> int | None:
        node = self._only(root, "full_points")
        if node is None:
            self.scan.report(root.start, f"has no <full_points>{self._hint(root, 'full_points')}")
            return None
        return self._whole_number(node)

    def _distinct(self, steps: Iterable[Step]) -> bool:
        """Whether every step can be told from the others and anything can be earned."""
        first: dict[str, int] = {}
        distinct = True
        for step in steps:
            if step.name in first:
                message = f"step {step.name!r} repeats the name of line {first[step.name]}"
                self.scan.report_line(step.line, message)
            distinct = distinct and step.name not in first and bool(step.name)
            first.setdefault(step.name, step.line)
        return distinct and any(step.points for step in steps)

    def _compare(
        self, root: Node, steps: list[Step], declared: int | None, missing: list[tuple[int, str]]
    ) -> None:
        scan, total = self.scan, sum(step.points for step in steps)
        if not steps:
            where = root.first("steps") or root
            scan.report(root.start, f"has no <step>{self._hint(where, 'step')}")
            return
        # Points that are not there make the sum differ: one cause, one message.
        differs = declared is not None and declared != total
        suffix = f"; declared {declared}, the points that are there sum to {total}"
        for offset, message in missing:
            scan.report(offset, f"step {message}{suffix if differs else ''}")
        node = root.first("full_points")
        if node and differs and not missing and not scan.has_errors:
            scan.report(node.start, f"<full_points> declares {declared}, the steps sum to {total}")
        if total == 0 and not scan.has_errors:
            scan.report(root.start, "the steps sum to 0 points: nothing can be earned")
