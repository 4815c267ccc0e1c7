# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym rescore`: the same verdicts give the same scorecards, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.cli.console import OUT, shown
from vibench_gym.cli.wire import RescoreOut
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.scoring.rescore import rescore

if TYPE_CHECKING:
    from pathlib import Path


def run_rescore(run: Path) -> RescoreOut:
    """Recompute a finished run.

    Raises:
        ConfigError: the folder holds no finished rollout, or a record cannot be read.
    """
    rollouts = rescore(RunDir(run))
    if not rollouts:
        raise ConfigError(f"{str(run)!r} holds no finished rollout; name a run directory")
    return RescoreOut(
        plans=tuple(
            RescoreOut.Plan(
                task=rollout.directory.path.parent.name,
                rollout=rollout.directory.path.name,
                plan=plan.directory.plan_id,
                identical=plan.identical and rollout.identical,
                score=plan.scorecard.score,
                full_points=plan.scorecard.full_points,
            )
            for rollout in rollouts
            for plan in rollout.plans
        )
    )


def print_rescore(result: RescoreOut) -> None:
    """One line per plan."""
    for plan in result.plans:
        state = "identical" if plan.identical else "DIFFERENT"
        where = f"{plan.task}/{plan.rollout}/{plan.plan}"
        OUT.print(shown(f"{state}  {where}  {plan.score}/{plan.full_points}"), soft_wrap=True)
    same = sum(plan.identical for plan in result.plans)
    OUT.print(f"{same} of {len(result.plans)} scorecards byte-identical")
