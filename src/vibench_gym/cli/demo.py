# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym demo`: four artifacts of one bundled task, graded for real with replayed models."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

from vibench_gym.cli.grade import grade_one, make_grader, run_dir
from vibench_gym.cli.wire import GradeOut
from vibench_gym.core.config import GraderConfig, StackConfig
from vibench_gym.core.errors import ConfigError, OperatorFault
from vibench_gym.core.mutant import apply_mutant, load_mutants
from vibench_gym.core.task import bundled_tasks_dir, load_task
from vibench_gym.grading.models import ReplayModels
from vibench_gym.report.html import write_report
from vibench_gym.sandbox.janitor import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from pathlib import Path

    from vibench_gym.cli.console import Progress
    from vibench_gym.cli.wire import RolloutOut
    from vibench_gym.core.task import Task

DEMO_TASK = "pantry"
DEMO_MUTANT = "quantity_ignored"
CONCURRENCY = 4
"""Plans at once: most of a plan is waiting for pages to settle, so two cores carry four."""

# What a builder forgets most often: the start script names a file that is not there.
BROKEN_START = "#!/usr/bin/env bash\nexec python server_main.py\n"


async def run_demo(out: Path | None, progress: Progress) -> GradeOut:
    """Grade `reference`, `mutant`, `broken` and `empty`.

    Raises:
        OperatorFault: the bundled task is missing, or this machine lacks something.
    """
    task = load_task(bundled_tasks_dir() / DEMO_TASK)
    run = run_dir(out)
    work = WorkFolder("demo")
    try:
        apps = demo_apps(task, work.path)
        async with ReplayModels(task) as models:
            grader = make_grader(models, StackConfig(), GraderConfig(concurrency=CONCURRENCY))
            rollouts = await _all(
                grade_one(grader, task=task, app=app, run=run, label=label, progress=progress)
                for label, app in apps.items()
            )
    finally:
        await asyncio.to_thread(work.remove)
    return GradeOut(rollouts=rollouts, report=str(write_report(run.root).resolve()))


async def _all(gradings: Iterable[Coroutine[None, None, RolloutOut]]) -> tuple[RolloutOut, ...]:
    """Run together; the first fault ends the others and is raised as itself, not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(grading) for grading in gradings]
    except* OperatorFault as faults:
        raise faults.exceptions[0] from None
    return tuple(task.result() for task in tasks)


def demo_apps(task: Task, work: Path) -> dict[str, Path]:
    """Make the four artifacts below `work`, in the order in which the demo grades them.

    Raises:
        ConfigError: the task ships no reference or not the demo's mutant.
    """
    if task.reference is None or task.mutants is None:
        raise ConfigError(f"task {task.name!r} ships no reference app or no mutants")
    mutants = {mutant.name: mutant for mutant in load_mutants(task)}
    if DEMO_MUTANT not in mutants:
        raise ConfigError(f"task {task.name!r} ships no mutant {DEMO_MUTANT!r}")
    mutant, broken, empty = work / "mutant", work / "broken", work / "empty"
    apply_mutant(task, mutants[DEMO_MUTANT], mutant)
    shutil.copytree(task.reference, broken)
    (broken / "start-server.sh").write_text(BROKEN_START, encoding="utf-8")
    empty.mkdir()
    return {"reference": task.reference, "mutant": mutant, "broken": broken, "empty": empty}
