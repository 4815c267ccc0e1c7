# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym rescore`: the same verdicts give the same scorecards, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.cli.console import OUT, print_unreadable, shown
from vibench_gym.cli.wire import RescoreOut, unreadable_out
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.scoring.rescore import rescore_readable

if TYPE_CHECKING:
    from pathlib import Path


def run_rescore(run: Path) -> RescoreOut:
    """Recompute a finished run.

    Raises:
        ConfigError: the folder holds no finished rollout.
    """
    found = rescore_readable(RunDir(run))
    if not found.rollouts and not found.unreadable:
        raise ConfigError(f"{str(run)!r} holds no finished rollout; name a run directory")
    return RescoreOut(
        plans=tuple(
            RescoreOut.Plan(
                task=rollout.directory.path.parent.name,
                rollout=rollout.directory.path.name,
                plan=plan.directory.plan_id,
                # Where a plan is left out, there is no reward to compare.
                identical=plan.identical and (rollout.identical or bool(rollout.unreadable)),
                score=plan.scorecard.score,
                full_points=plan.scorecard.full_points,
            )
            for rollout in found.rollouts
            for plan in rollout.plans
        ),
        unreadable=unreadable_out(found.unreadable),
    )


def print_rescore(result: RescoreOut) -> None:
    """One line per plan, then what was left out."""
    for plan in result.plans:
        state = "identical" if plan.identical else "DIFFERENT"
        where = f"{plan.task}/{plan.rollout}/{plan.plan}"
        OUT.print(shown(f"{state}  {where}  {plan.score}/{plan.full_points}"), soft_wrap=True)
    same = sum(plan.identical for plan in result.plans)
    OUT.print(f"{same} of {len(result.plans)} scorecards byte-identical")
    print_unreadable(result.unreadable)
