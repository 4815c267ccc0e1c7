# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of stacks there are. The only place that names them all: a new kind adds a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ConfigError
from vibench_gym.stack.compose.kind import COMPOSE
from vibench_gym.stack.local.kind import LOCAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.sandbox.prerequisites import Check
    from vibench_gym.stack.base import StackBuilder, StackKind

KINDS: Final[Mapping[str, StackKind]] = {
    kind.name: kind
    for kind in (
        LOCAL,
        COMPOSE,
    )
}


def stack_kind(name: str, *, setting: str = "stack.kind") -> StackKind:
    """The kind of that name, as `setting` has it.

    Raises:
        ConfigError: there is none.
    """
    kind = KINDS.get(name)
    if kind is None:
        raise ConfigError(f"{setting} is one of {', '.join(KINDS)}; not {name!r}")
    return kind


def stack_builder(config: StackConfig, *, browser: Path | None = None) -> StackBuilder:
    """A builder of the kind that is configured; `browser` is the host's Chromium.

    Raises:
        ConfigError: there is no such kind.
    """
    return stack_kind(config.kind).builder(config, browser)


def stack_checks(config: StackConfig, *, browser: Path | None = None) -> Sequence[Check]:
    """Whether this host has what the kind that is configured needs. Blocks.

    Raises:
        ConfigError: there is no such kind.
    """
    return stack_kind(config.kind).checks(config, browser)


def require_app_model_route(kind: StackKind, setting: str) -> None:
    """Refuse a model for apps that they could not reach.

    Raises:
        ConfigError: the kind carries no calls to a model.
    """
    if not kind.carries_app_model:
        able = ", ".join(name for name, each in KINDS.items() if each.carries_app_model)
        raise ConfigError(f"{setting}: only these stacks carry an app's calls to a model: {able}")
