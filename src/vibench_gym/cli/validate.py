# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym validate`: every problem with file and line, before money is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.cli.console import OUT, shown
from vibench_gym.cli.wire import ProblemOut, ValidateOut
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.tasks.task import bundled_tasks_dir, load_benchmark

if TYPE_CHECKING:
    from pathlib import Path


def run_validate(*, vibench_root: Path | None, task: Path | None) -> ValidateOut:
    """Check a root, one task, or the bundled tasks.

    Raises:
        ConfigError: a root and a task are both named.
        TaskInvalid: there is no task there at all.
    """
    if vibench_root is not None and task is not None:
        raise ConfigError("--vibench-root and --task exclude each other; name one")
    found = load_benchmark(vibench_root or task or bundled_tasks_dir())
    return ValidateOut(
        apps=found.apps,
        artifacts=found.artifacts,
        plans=found.plans,
        steps=found.steps,
        points=found.points,
        problems=tuple(
            ProblemOut(file=problem.file, line=problem.line, message=problem.message)
            for problem in found.problems
        ),
    )


def print_validation(result: ValidateOut) -> None:
    """Problems first, counts last."""
    for problem in result.problems:
        OUT.print(shown(f"{problem.file}:{problem.line}: {problem.message}"), soft_wrap=True)
    OUT.print(
        f"{result.apps} apps, {result.artifacts} artifacts, {result.plans} plans, "
        f"{result.steps} steps, {result.points} points; {len(result.problems)} problems"
    )
