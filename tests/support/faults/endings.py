# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a fault is, and what breaking something came to: the two lists of `make faults`.

A *fault* breaks one of our parts at a named point, for good or for a moment. For good it has to end
as a mask or with the operator, never as a score; for a moment, as the score that the app has
earned. *Sabotage* is what an app or a builder breaks on purpose: it is always scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vibench_gym.core.errors import OperatorFault

Point = Literal[
    "archive",
    "set-up",
    "registry",
    "sandbox",
    "database",
    "app",
    "browser",
    "model",
    "verdicts",
    "seeding",
    "clock",
    "memory",
    "store",
    "server",
    "harness",
    "build box",
]
POINTS: Final[tuple[Point, ...]] = get_args(Point)
How = Literal["for good", "once", "sabotage"]
Verdict = Literal["masked", "operator", "scored"]
PROPERTY: Final = "fault"


@dataclass(frozen=True, slots=True)
class Ending:
    """What it came to. `kind` is the failure_kind of a mask, or the operator's fault by name."""

    verdict: Verdict
    status: str
    kind: str = ""
    reward: float | None = None
    attempts: int = 0
    why: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of the table."""
        scored = f"{self.reward:g}" if self.verdict == "scored" else "no"
        return self.status, self.kind or "-", scored, str(self.attempts or "-")


def operator_ending(fault: OperatorFault) -> Ending:
    """The operator has to act, nothing was scored."""
    return Ending("operator", "refused", type(fault).__name__, why=str(fault))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    point: Point
    how: How
    ending: Ending

    def cells(self) -> dict[str, str]:
        """The line by column, as a test's property carries it."""
        status, kind, scored, attempts = self.ending.row
        return {
            "fault": self.name,
            "point": self.point,
            "how": self.how,
            "status": status,
            "failure_kind": kind,
            "scored": scored,
            "attempts": attempts,
        }


class Tell(Protocol):
    """Puts one line into the table."""

    def __call__(self, name: str, point: Point, how: How, ending: Ending) -> None:
        """Tell what became of a fault."""
        ...


COLUMNS: Final = ("fault", "point", "how", "status", "failure_kind", "scored", "attempts")


def table(rows: Iterable[dict[str, str]]) -> list[str]:
    """Lines of one table, by point and name."""
    order = {point: number for number, point in enumerate(POINTS)}
    ordered = sorted(rows, key=lambda row: (order[_point(row)], row["fault"], row["how"]))
    cells = [COLUMNS, *([row[column] for column in COLUMNS] for row in ordered)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


def summary(rows: Iterable[dict[str, str]]) -> list[str]:
    """What the table shows, counted."""
    found = list(rows)
    lasting = [row for row in found if row["how"] == "for good"]
    passing = [row for row in found if row["how"] == "once"]
    sabotage = [row for row in found if row["how"] == "sabotage"]
    return [
        f"{len(lasting)} faults for good: {_scored(lasting)} scored",
        f"{len(passing)} faults for a moment: {_scored(passing)} scored after another attempt",
        f"{len(sabotage)} ways to break it on purpose: {len(sabotage) - _scored(sabotage)} masked",
    ]


def _scored(rows: list[dict[str, str]]) -> int:
    return sum(row["scored"] != "no" for row in rows)


def _point(row: dict[str, str]) -> Point:
    return next(point for point in POINTS if point == row["point"])
