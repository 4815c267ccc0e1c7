# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a replay script that has been loaded and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vibench_gym.core.toolset import Tool
    from vibench_gym.llm.replay.script.snapshot import Locator


@dataclass(frozen=True, slots=True)
class Looks:
    """Patterns that the last observation must and must not match."""

    see: tuple[str, ...] = ()
    not_see: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call; `locators` are arguments that name an element of the last snapshot."""

    tool: type[Tool]
    arguments: Mapping[str, Any]
    locators: Mapping[str, Locator]
    non_fatal: str | None = None


@dataclass(frozen=True, slots=True)
class CheckItem:
    """A verdict from the last observation; in a seeding script (`expect`) it ends the seeding."""

    text: str
    looks: Looks
    non_fatal: str | None = None


@dataclass(frozen=True, slots=True)
class When:
    """A branch on what the last observation shows."""

    looks: Looks
    then: tuple[Item, ...]
    otherwise: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """Keeps group 1 of a pattern as `${name}`; no match is a failed check."""

    name: str
    pattern: str
    non_fatal: str | None = None


type Item = Action | CheckItem | When | Capture


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """The items of one plan step."""

    name: str
    items: tuple[Item, ...]


type ScriptRole = Literal["qa", "seed"]


@dataclass(frozen=True, slots=True)
class Script:
    """A loaded script."""

    role: ScriptRole
    steps: tuple[ScriptStep, ...]
    source: str = "<script>"


def always_checks(items: Sequence[Item]) -> bool:
    """Whether every way through the items meets a check."""
    return any(
        isinstance(item, CheckItem)
        or (isinstance(item, When) and always_checks(item.then) and always_checks(item.otherwise))
        for item in items
    )


def judges_first(items: Sequence[Item]) -> bool:
    """Whether some way through the items meets a check before any action."""
    return _judges_first(items, acted=False)[0]


def _judges_first(items: Sequence[Item], *, acted: bool) -> tuple[bool, bool]:
    """Whether some way judges first; and whether all ways have acted."""
    for item in items:
        match item:
            case Action():
                acted = True
            case CheckItem() if not acted:
                return True, acted
            case When():
                first, then_acted = _judges_first(item.then, acted=acted)
                second, else_acted = _judges_first(item.otherwise, acted=acted)
                if first or second:
                    return True, acted
                acted = then_acted and else_acted
            case _:
                pass
    return False, acted
