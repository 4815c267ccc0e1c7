# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A bundled plan graded on the compose stack, by script: seeding, browser, verdicts, score."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.docker.compose_lab import settings
from vibench_gym.core.config import GraderConfig
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.tasks.task import bundled_tasks_dir, load_task
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.grading.model_sources import ReplayModels
from vibench_gym.stack.compose.builder import ComposeStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.stack.compose.host import ComposeHost

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


async def test_reference_earns_all_points_of_a_seeded_plan(
    compose_host: ComposeHost, compose_cache: Path, tmp_path: Path
) -> None:
    folder = bundled_tasks_dir() / "pantry"
    task = load_task(folder)
    task = replace(task, plans=tuple(plan for plan in task.plans if plan.stem == "test2"))
    async with ReplayModels(task) as models:
        grader = Grader(
            stacks=ComposeStackBuilder(settings(compose_cache), host=compose_host),
            models=models,
            browsers=PlaywrightLauncher(),
            config=GraderConfig(concurrency=1),
        )
        rollout = RunDir(tmp_path).rollout(task, "reference")
        record = await grader.grade(
            task, folder / "reference" / "mvp", rollout=rollout, label="reference"
        )
    assert not record.mask_sample
    assert record.reward == 1.0
