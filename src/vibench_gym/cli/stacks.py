# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Turns the options `--stack` and `--image` of several commands into the settings of a stack."""

from __future__ import annotations

from vibench_gym.core.config import StackConfig
from vibench_gym.core.errors import ConfigError
from vibench_gym.stack.kinds import KINDS, stack_kind


def stack_config(name: str, image: str | None = None) -> StackConfig:
    """Settings of the stack that the operator named, with the image where one is named.

    Raises:
        ConfigError: there is no such stack, or it has no images.
    """
    kind = stack_kind(name, setting="--stack")
    config = StackConfig(kind=name)
    if image is None:
        return config
    if kind.with_image is None:
        able = ", ".join(each.name for each in KINDS.values() if each.with_image is not None)
        raise ConfigError(f"--image is for --stack {able}")
    return kind.with_image(config, image)
