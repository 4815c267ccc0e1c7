# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the rest of the program knows about the local stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.sandbox.prerequisites import all_checks
from vibench_gym.stack.base import StackKind
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.sandbox.prerequisites import Check


def _builder(config: StackConfig, browser: Path | None) -> LocalStackBuilder:
    return LocalStackBuilder(config, browser=browser)


def _checks(config: StackConfig, browser: Path | None) -> Sequence[Check]:
    return all_checks(pg_bin_dir=config.pg_bin_dir, chromium=browser)


LOCAL: Final = StackKind(
    name="local",
    sandbox_provider="bubblewrap",
    carries_app_model=True,
    builder=_builder,
    checks=_checks,
)
