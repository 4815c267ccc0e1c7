# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The grader over scripts that need no engine; `tests/docker` has one."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.docker.vibench_lab import KEY, VibenchLab, card
from support.grading import make_plan
from vibench_gym.core.config import ArchiveBudget, VibenchConfig
from vibench_gym.core.errors import AppStartFailed, DatabaseUnavailable
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.scoring.rescore import rescore
from vibench_gym.core.status import ArtifactStatus, PlanStatus
from vibench_gym.grading.vibench.checkout import DockerHost
from vibench_gym.grading.vibench.environment import GraderEnvironment
from vibench_gym.grading.vibench.grader import VibenchGrader
from vibench_gym.testing.fakes.stack import FakeStack, FakeStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord
    from vibench_gym.stack.base import StackBuilder

# In place of a container: what the app says is run here.
SCRIPT = """\
import argparse, os, subprocess, sys
parser = argparse.ArgumentParser()
for name in ("app-dir", "test-plan", "output-dir", "seeding", "test-assets"):
    parser.add_argument("--" + name)
given = parser.parse_args()
phase = "evaluate" if given.seeding else "seed"
os.chdir(given.output_dir)
print(phase, given.test_plan, flush=True)
sys.exit(subprocess.call(["sh", given.app_dir + "/agent-" + phase + ".sh", given.test_plan]))
"""
SEED = "mkdir seeding && echo : > seeding/seed.sh\n"


class Lab(VibenchLab):
    docker = "true"

    def __post_init__(self) -> None:
        super().__post_init__()
        for script in (self.checkout.seed, self.checkout.evaluate):
            script.write_text(SCRIPT, encoding="utf-8")

    def made(self, *, control: StackBuilder | None = None, retries: int = 0) -> VibenchGrader:
        docker = shutil.which(self.docker)
        assert docker is not None
        return VibenchGrader(
            checkout=self.checkout,
            host=DockerHost(docker, (docker,), compose_1=False, environment={}),
            environment=GraderEnvironment({"PATH": "/usr/bin:/bin", "AGENT_LLM_API_KEY": KEY}),
            config=VibenchConfig(retries=retries, cleanup_grace_s=30),
            archive=ArchiveBudget(),
            limiter=asyncio.Semaphore(2),
            control=control,
        )

    async def run(
        self, app: Path, *, control: StackBuilder | None = None, retries: int = 0
    ) -> RolloutRecord:
        grader = self.made(control=control, retries=retries)
        return await grader.grade(self.task, app, rollout=self.results, label="one")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def judge(text: str) -> str:
    return f"cat > evaluation-finished.json <<'END'\n{text}\nEND\n"


def good(lab: Lab) -> Path:
    scripts = {"agent-seed.sh": SEED, "agent-evaluate.sh": judge(card(lab.plans[0], [True, True]))}
    return lab.app(scripts)


async def test_a_rollout(lab: Lab) -> None:
    done = await lab.run(good(lab))

    assert (done.reward, done.mask_sample, done.grader) == (1.0, False, "vibench")
    assert done.artifact_sha256
    assert [one.identical for one in rescore(RunDir(lab.root / "run"))] == [True]


async def test_an_app_that_cannot_be_built_costs_no_plan_run(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = await lab.run(tmp_path / "empty")

    assert (done.reward, done.build_failed) == (0.0, True)
    assert done.artifact_status is ArtifactStatus.NOT_BUILDABLE
    assert not any("seed.log" in name for name in lab.kept())


async def test_what_was_measured_is_not_measured_again(lab: Lab) -> None:
    lab.plans = (make_plan("mvp.a"), make_plan("mvp.b"))
    app = good(lab)
    await lab.run(app)
    shutil.rmtree(lab.results.plan("mvp.b").path)
    before = lab.record(0)
    done = await lab.run(app)

    assert done.reward == 1.0
    assert lab.record(0) == before
    assert lab.record(1).status is PlanStatus.GRADED


async def test_another_try_is_a_fresh_one(lab: Lab) -> None:
    flag = lab.root / "tried"
    once = f"test -e {flag} || {{ touch {flag}; touch left; exit 1; }}\ntest ! -e left || exit 2\n"
    scripts = {
        "agent-seed.sh": once + SEED,
        "agent-evaluate.sh": judge(card(lab.plans[0], [True] * 2)),
    }
    done = await lab.run(lab.app(scripts), retries=1)

    assert (done.reward, lab.record().attempts) == (1.0, 2)


async def test_the_app_does_not_start_on_a_stack_of_ours_either(lab: Lab) -> None:
    lab.plans = (make_plan("mvp.a"), make_plan("mvp.b"))
    stack = FakeStack(enter_error=AppStartFailed("it exits at once"))
    control = FakeStackBuilder([stack])
    done = await lab.run(
        lab.app({"agent-evaluate.sh": "exit 1\n", "agent-seed.sh": SEED}),
        control=control,
        retries=1,
    )

    assert (done.reward, done.mask_sample) == (0.0, False)
    assert [lab.record(n).status for n in (0, 1)] == [PlanStatus.START_FAILED] * 2
    assert [lab.record(n).attempts for n in (0, 1)] == [1, 1]
    assert len(control.prepared) == 1
    assert control.prepared[0].closed


@pytest.mark.parametrize("broken", [True, False])
async def test_a_control_that_finds_nothing_masks(lab: Lab, *, broken: bool) -> None:
    errors = [DatabaseUnavailable("no database")] if broken else []
    control = FakeStackBuilder(prepare_errors=errors)
    scripts = {"agent-seed.sh": SEED, "agent-evaluate.sh": "exit 1\n"}
    done = await lab.run(lab.app(scripts), control=control)

    assert (done.mask_sample, done.failure_kind) == (True, "grader_model_failed")


async def test_an_app_with_a_model_of_its_own_is_not_blamed_by_a_control_without(lab: Lab) -> None:
    control = FakeStackBuilder([FakeStack(enter_error=AppStartFailed("no model"))])
    task = replace(lab.task, needs_app_model=True)
    grader = lab.made(control=control)
    app = lab.app({"agent-seed.sh": "exit 1\n"})
    done = await grader.grade(task, app, rollout=lab.results, label="one")

    assert (done.mask_sample, done.failure_kind) == (True, "seeding_failed")
    assert control.prepared == []


async def test_an_engine_that_went_away_is_told(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vibench_gym.grading.vibench.script_run.REMOVE_FOR_S", 0.1)
    monkeypatch.setattr("vibench_gym.grading.vibench.janitor._REMOVE_FOR_S", 0.1)
    lab.docker = "false"
    done = await lab.run(lab.app({"agent-seed.sh": "exit 1\n"}))

    assert (done.mask_sample, done.failure_kind) == (True, "sandbox_unavailable")
    assert any("left on the Docker engine" in flag for flag in lab.record().flags)


async def test_links_in_an_app_are_told(lab: Lab) -> None:
    app = good(lab)
    (app / "keys").symlink_to(lab.env_file)
    done = await lab.run(app)

    assert done.reward == 1.0
    assert any("keys" in flag for flag in lab.record().flags)


async def test_what_scripts_print_is_kept_without_keys(lab: Lab) -> None:
    scripts = {"agent-seed.sh": "echo $AGENT_LLM_API_KEY; exit 1\n"}
    await lab.run(lab.app(scripts))

    assert "[redacted]" in lab.kept()["plans/mvp.test1/vibench/seed.log"].decode()
    assert KEY not in json.dumps([data.decode() for data in lab.kept().values()])
    assert "[redacted]" in str(lab.record().error)
