# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The stack that a configuration asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.stack.compose.builder import ComposeStackBuilder
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.base import StackBuilder


def stack_builder(config: StackConfig, *, browser: Path | None = None) -> StackBuilder:
    """A builder of `config.kind`; `browser` is the host's Chromium, for the local stack."""
    if config.kind == "compose":
        return ComposeStackBuilder(config)
    return LocalStackBuilder(config, browser=browser)
