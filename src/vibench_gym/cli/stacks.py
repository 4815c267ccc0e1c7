# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What `--stack` and `--image` of several commands mean."""

from __future__ import annotations

from vibench_gym.core.config import ComposeConfig, StackConfig
from vibench_gym.core.errors import ConfigError


def stack_config(kind: str, image: str | None = None) -> StackConfig:
    """Settings of the stack that the operator named; `image` is the compose stack's.

    Raises:
        ConfigError: there is no such stack, or it has no images.
    """
    if kind == "local":
        if image is not None:
            raise ConfigError("--image is for --stack compose")
        return StackConfig()
    if kind != "compose":
        raise ConfigError(f"--stack is one of local, compose; not {kind!r}")
    compose = ComposeConfig() if image is None else ComposeConfig(app_image=image)
    return StackConfig(kind="compose", compose=compose)
