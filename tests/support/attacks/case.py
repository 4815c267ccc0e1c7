# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a red-team case is: an attack beside its honest twin, and what the attacker would gain.

A case is an ordinary test that says four things about itself. They are carried by the function
(`@redteam(...)`), or by a parameter where one function serves several attacks (`Case` in a
`pytest.param`). The table of `make redteam` and the proof that the suite has teeth are made from
them, so a case names every defence that has to fall before it would fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Kind = Literal[
    "archive",
    "setup",
    "startup",
    "runtime",
    "page",
    "seeding",
    "judge",
    "build_box",
    "harness",
    "verify",
    "rollouts",
    "host",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
ATTRIBUTE: Final = "redteam_case"


@dataclass(frozen=True, slots=True)
class Case:
    """One attack. `name` is filled from the test's own where it is left empty."""

    kind: Kind
    gain: str
    """What the attacker would have, in one sentence, if nothing stood against it."""
    expected: str
    """What has to happen instead, as short as a table's cell."""
    defences: tuple[str, ...]
    """Names in `support.defences`; the removal of any one lets the attack through."""
    name: str = ""
    attack: Any = None
    """What a parametrised test carries out; its meaning is the test's."""


def redteam[T: Callable[..., Any]](
    kind: Kind, *, gain: str, expected: str, defences: Iterable[str] = ()
) -> Callable[[T], T]:
    """Make a test a case."""
    case = Case(kind, gain, expected, tuple(defences))

    def mark(test: T) -> T:
        setattr(test, ATTRIBUTE, case)
        return test

    return mark


class Seen:
    """What a case saw, for the table: the last thing it was told."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, text: str) -> None:
        """Keep one line of what happened."""
        self.text = " ".join(text.split())[:200]


def table(rows: Iterable[dict[str, str]]) -> list[str]:
    """Lines of a table of cases: by kind, then name; what was not as expected stands out."""
    ordered = sorted(rows, key=lambda row: (KINDS.index(_kind(row)), row["case"]))
    heads = ("case", "kind", "an attacker would", "expected", "seen", "")
    cells = [
        (row["case"], row["kind"], row["gain"], row["expected"], row["seen"], row["result"])
        for row in ordered
    ]
    widths = [max(len(line[column]) for line in (heads, *cells)) for column in range(len(heads))]
    return ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in (heads, *cells)]  # fmt: skip


def _kind(row: dict[str, str]) -> Kind:
    return next(kind for kind in KINDS if kind == row["kind"])
