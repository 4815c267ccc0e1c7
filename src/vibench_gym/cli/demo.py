# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym demo`: four artifacts of one bundled task, graded for real with replayed models."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.cli.grade import grade_one, run_dir
from vibench_gym.cli.wire import GradeOut
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.mutant import apply_mutant, load_mutants
from vibench_gym.core.task import bundled_tasks_dir, load_task
from vibench_gym.grading.models import ReplayModels
from vibench_gym.report.html import write_report

if TYPE_CHECKING:
    from vibench_gym.cli.console import Progress
    from vibench_gym.core.task import Task

DEMO_TASK = "pantry"
DEMO_MUTANT = "quantity_ignored"

# What a builder forgets most often: the start script names a file that is not there.
BROKEN_START = "#!/usr/bin/env bash\nexec python server_main.py\n"


async def run_demo(out: Path | None, progress: Progress) -> GradeOut:
    """Grade `reference`, `mutant`, `broken` and `empty`.

    Raises:
        OperatorFault: the bundled task is missing, or this machine lacks something.
    """
    task = load_task(bundled_tasks_dir() / DEMO_TASK)
    run = run_dir(out)
    rollouts = []
    with tempfile.TemporaryDirectory(prefix="vibench-gym-demo-") as work:
        apps = demo_apps(task, Path(work))
        async with ReplayModels(task) as models:
            for label, app in apps.items():
                rollouts.append(
                    await grade_one(
                        task=task, app=app, models=models, run=run, label=label, progress=progress
                    )
                )
    return GradeOut(rollouts=tuple(rollouts), report=str(write_report(run.root).resolve()))


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
