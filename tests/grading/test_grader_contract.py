# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every registered kind of grader does alike, over fakes: failed builds, resuming, records."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import pytest

from support.docker.vibench_lab import VibenchLab, card
from support.grading import FakeBrowsers, FakeModels, agent, make_app, make_plan, make_task, passing
from support.grading_lab import FAST
from vibench_gym.core.config import ArchiveBudget, GraderName, VibenchConfig
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.rundir import RolloutDir, RunDir
from vibench_gym.core.scoring.rescore import rescore
from vibench_gym.core.status import ArtifactStatus, PlanStatus
from vibench_gym.grading.kinds import GRADERS
from vibench_gym.grading.queued_grader import QueuedGrader
from vibench_gym.grading.vibench.checkout import DockerHost
from vibench_gym.grading.vibench.environment import GraderEnvironment
from vibench_gym.grading.vibench.grader import VibenchGrader
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.grading.base import RolloutGrader

PLAN = make_plan("mvp.a")
# In place of ViBench's scripts: a seed, and a card by which every step passes.
SCRIPT = """\
import pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--output-dir") + 1])
(out / "seeding").mkdir()
(out / "seeding/seed.sh").write_text(":")
(out / "evaluation-finished.json").write_text({card!r})
"""


@dataclass
class Lab:
    """A grader of one kind with nothing real beneath it."""

    name: GraderName
    grader: RolloutGrader
    task: Task
    rollout: RolloutDir

    async def grade(self, app: Path) -> RolloutRecord:
        return await self.grader.grade(self.task, app, rollout=self.rollout, label="one")


def builtin() -> RolloutGrader:
    @asynccontextmanager
    async def models(_task: Task) -> AsyncIterator[FakeModels]:
        yield FakeModels(qa=lambda plan: agent(passing(plan)))

    return QueuedGrader(
        models=models,
        stacks=FakeStackBuilder(),
        limiter=asyncio.Semaphore(2),
        config=FAST,
        archive=ArchiveBudget(),
        browsers=FakeBrowsers(),
    )


def vibench(root: Path) -> RolloutGrader:
    checkout = VibenchLab(root).checkout
    for script in (checkout.seed, checkout.evaluate):
        script.write_text(SCRIPT.format(card=card(PLAN, [True, True])), encoding="utf-8")
    docker = shutil.which("true")
    assert docker is not None
    return VibenchGrader(
        checkout=checkout,
        host=DockerHost(docker, (docker,), compose_1=False, environment={}),
        environment=GraderEnvironment({"PATH": "/usr/bin:/bin"}),
        config=VibenchConfig(retries=0, cleanup_grace_s=30),
        archive=ArchiveBudget(),
        limiter=asyncio.Semaphore(2),
    )


@pytest.fixture(params=get_args(GraderName))
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    name: GraderName = request.param
    grader = builtin() if name == "builtin" else vibench(tmp_path / "vibench")
    rollout = RunDir(tmp_path / "run").rollout("task", "one")
    return Lab(name, grader, make_task(PLAN), rollout)


def test_every_name_has_its_kind() -> None:
    assert {name: kind.name for name, kind in GRADERS.items()} == {
        name: name for name in get_args(GraderName)
    }


async def test_a_rollout_is_graded_under_the_graders_name(lab: Lab, tmp_path: Path) -> None:
    done = await lab.grade(make_app(tmp_path / "app"))
    assert (done.grader, done.reward, done.mask_sample) == (lab.name, 1.0, False)
    assert done.artifact_sha256 is not None
    [again] = rescore(RunDir(tmp_path / "run"))
    assert again.identical
    record = lab.rollout.plan(PLAN.id).read_record()
    assert record is not None
    assert (record.status, record.app_fault, record.masked) == (PlanStatus.GRADED, False, False)


async def test_an_app_without_its_scripts_is_a_failed_build(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = await lab.grade(tmp_path / "empty")
    assert (done.reward, done.build_failed, done.mask_sample) == (0.0, True, False)
    assert done.artifact_status is ArtifactStatus.NOT_BUILDABLE
    record = lab.rollout.plan(PLAN.id).read_record()
    assert record is not None
    assert (record.status, record.app_fault) == (PlanStatus.SETUP_FAILED, True)


async def test_a_path_at_which_nothing_is_is_the_operators(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no app at .*nothing\.tar"):
        await lab.grade(tmp_path / "nothing.tar")


async def test_what_was_measured_for_this_artifact_is_kept(lab: Lab, tmp_path: Path) -> None:
    app = make_app(tmp_path / "app")
    await lab.grade(app)
    path = lab.rollout.plan(PLAN.id).path / "plan.json"
    before = path.stat().st_mtime_ns
    await lab.grade(app)
    assert path.stat().st_mtime_ns == before
    (app / "start-server.sh").write_text("another app", encoding="utf-8")
    await lab.grade(app)
    assert path.stat().st_mtime_ns > before
