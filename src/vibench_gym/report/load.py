# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a run directory for the report, bounded and tolerant of a run that is still growing."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.rundir import PlanDir, RolloutDir, RunDir
from vibench_gym.report.view import PlanSource, RolloutSource

if TYPE_CHECKING:
    from pathlib import Path

LOG_BYTES = 24 * 1024


def load_run(run: Path) -> list[RolloutSource]:
    """Every rollout of a run that has begun, in the order in which they began.

    Raises:
        ConfigError: the folder holds no rollout.
    """
    found = [_rollout(directory) for directory in RunDir(run).rollouts()]
    if not found:
        raise ConfigError(f"{str(run)!r} holds no rollout; name a run directory")
    return sorted(found, key=lambda rollout: rollout.record.started_at)


def _rollout(directory: RolloutDir) -> RolloutSource:
    record = directory.read_rollout()
    if record is None:
        raise ConfigError(f"{str(directory.path)!r} has no rollout.json")
    plans = [_plan(directory.plan(plan), record.plan_names.get(plan, "")) for plan in record.plans]
    return RolloutSource(record, plans)


def _plan(directory: PlanDir, name: str) -> PlanSource:
    return PlanSource(
        plan=directory.plan_id,
        name=name,
        folder=directory.path,
        record=directory.read_record(),
        scorecard=directory.read_scorecard(),
        logs={"App log": _tail(directory.app_log)},
    )


def _tail(path: Path) -> str:
    """The end of a log; nothing for what is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:  # noqa: PTH123 (from a descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return ""
        file.seek(max(0, status.st_size - LOG_BYTES))
        text = file.read(LOG_BYTES).decode("utf-8", errors="replace")
    return text if status.st_size <= LOG_BYTES else f"[... earlier lines cut]\n{text}"
