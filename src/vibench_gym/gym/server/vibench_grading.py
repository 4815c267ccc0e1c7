# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""ViBench's own graders by the server's settings; what is missing stops the server's start."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.config import VibenchConfig
from vibench_gym.core.errors import ConfigError, PrerequisiteMissing
from vibench_gym.grading.vibench.checkout import Checkout, find_docker
from vibench_gym.grading.vibench.environment import grader_environment
from vibench_gym.grading.vibench.grader import VibenchGrader
from vibench_gym.gym.server.startup import check_host, vibench_root
from vibench_gym.stack.kinds import stack_builder

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from vibench_gym.core.tasks.task import Task
    from vibench_gym.gym.server.config import VibenchResourcesServerConfig
    from vibench_gym.stack.base import StackBuilder

_LOG = logging.getLogger(__name__)


def vibench_grader(
    config: VibenchResourcesServerConfig,
    limiter: AbstractAsyncContextManager[object],
    app_key: Callable[[Task], str | None] = lambda _task: None,
) -> VibenchGrader:
    """ViBench's graders as the settings ask for them. Blocks.

    Raises:
        ConfigError: there is no whole checkout, or its graders' environment cannot be made.
        PrerequisiteMissing: Docker, Compose or the base image is not there.
    """
    root = vibench_root(config)
    if root is None:
        raise ConfigError("grader: vibench runs a checkout's scripts: set vibench_repo_root")
    python = Path(config.vibench_python).expanduser() if config.vibench_python else None
    checkout = Checkout.find(root, python)
    host = find_docker(checkout)
    env_file = Path(config.vibench_env_file).expanduser() if config.vibench_env_file else None
    return VibenchGrader(
        checkout=checkout,
        host=host,
        environment=grader_environment(checkout, config.vibench_model, env_file),
        config=_settings(config),
        archive=config.archive,
        limiter=limiter,
        control=_control(config),
        app_key=app_key,
    )


def _settings(config: VibenchResourcesServerConfig) -> VibenchConfig:
    limit = (
        {}
        if config.evaluation_timeout_s is None
        else {"plan_timeout_s": config.evaluation_timeout_s}
    )
    return VibenchConfig(
        cleanup_grace_s=config.cleanup_grace_s,
        keep_artifacts=config.keep_evaluation_artifacts,
        retries=config.grading.retries,
        **limit,
    )


def _control(config: VibenchResourcesServerConfig) -> StackBuilder | None:
    """A stack of ours to tell whose fault a failure is, where this host can have one."""
    try:
        check_host(config)
    except PrerequisiteMissing as missing:
        _LOG.warning("failures of ViBench's scripts will mask, the app's too: %s", missing)
        return None
    return stack_builder(config.stack, browser=config.browser.executable)
