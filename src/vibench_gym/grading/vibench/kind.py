# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""ViBench's own graders as a kind of grader; what they lack is reported when they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ConfigError, PrerequisiteMissing
from vibench_gym.core.shown_log import shown_logger
from vibench_gym.grading.base import GraderKind
from vibench_gym.grading.vibench.checkout import Checkout, find_docker
from vibench_gym.grading.vibench.environment import grader_environment
from vibench_gym.grading.vibench.grader import VibenchGrader
from vibench_gym.stack.app_model import app_model_key
from vibench_gym.stack.kinds import stack_builder

if TYPE_CHECKING:
    from vibench_gym.grading.base import GraderSettings
    from vibench_gym.stack.base import StackBuilder

_LOG = shown_logger(__name__)


def _vibench_grader(settings: GraderSettings) -> VibenchGrader:
    """ViBench's graders as the settings ask for them. Blocks.

    Raises:
        ConfigError: there is no whole checkout, or its graders' environment cannot be made.
        PrerequisiteMissing: Docker, Compose or the base image is not there.
    """
    vibench = settings.vibench
    if vibench.root is None:
        raise ConfigError("grader: vibench runs a checkout's scripts: set vibench_repo_root")
    checkout = Checkout.find(vibench.root, vibench.python)
    host = find_docker(checkout)
    # The app's key is in the app's container here, as the benchmark has it.
    key = app_model_key(settings.app_model) if settings.app_model else None
    return VibenchGrader(
        checkout=checkout,
        host=host,
        environment=grader_environment(checkout, vibench.model, vibench.env_file),
        config=vibench.config,
        archive=settings.archive,
        limiter=settings.limiter,
        control=_control(settings),
        app_key=lambda task: key if task.needs_app_model else None,
    )


def _control(settings: GraderSettings) -> StackBuilder | None:
    """A stack of ours to find out whose fault a failure is, where this host can have one."""
    try:
        settings.check_host()
    except PrerequisiteMissing as missing:
        _LOG.warning("failures of ViBench's scripts will mask, the app's too: %s", missing)
        return None
    return stack_builder(settings.stack, browser=settings.browser.executable)


VIBENCH: Final = GraderKind(name="vibench", make=_vibench_grader, sandbox_provider="docker")
