# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the rest of the program knows about the compose stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.stack.base import StackKind
from vibench_gym.stack.compose.builder import ComposeStackBuilder
from vibench_gym.stack.compose.checks import compose_checks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.sandbox.prerequisites import Check


def _builder(config: StackConfig, browser: Path | None) -> ComposeStackBuilder:
    del browser  # it is in an image
    return ComposeStackBuilder(config)


def _checks(config: StackConfig, browser: Path | None) -> Sequence[Check]:
    del browser
    return compose_checks(config)


def _with_image(config: StackConfig, image: str) -> StackConfig:
    compose = config.compose.model_copy(update={"app_image": image})
    return config.model_copy(update={"compose": compose})


COMPOSE: Final = StackKind(
    name="compose",
    sandbox_provider="docker",
    carries_app_model=True,
    builder=_builder,
    checks=_checks,
    with_image=_with_image,
)
