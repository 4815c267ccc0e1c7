# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""ViBench's graders on a real engine: every way in which a plan may end, and nothing left of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.docker.vibench_lab import SEED, card, judge, until
from support.grading import make_plan
from vibench_gym.core.errors import AppSetupFailed
from vibench_gym.core.status import PlanStatus, StepOutcome
from vibench_gym.sandbox.cleanup.work_folder import PREFIX
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from support.docker.vibench_lab import VibenchLab
    from vibench_gym.core.records import RolloutRecord

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]
HANGS = "sleep 1000 & sleep 1000\n"


def measured(done: RolloutRecord) -> tuple[float | None, bool, str | None]:
    return done.reward, done.mask_sample, done.failure_kind


async def test_a_plan_that_passes(lab: VibenchLab) -> None:
    files = ("/test_assets/photo.txt", "/seeding/seed.sh", "/test-plan.txt")
    looks = "".join(f"test -f {name} || exit 9\n" for name in files)
    seed = f"test ! -e /test_assets/photo.txt || exit 9\n{SEED}"
    passing = looks + judge(card(lab.plans[0], [True, True]))
    done = await lab.grade({"agent-seed.sh": seed, "agent-evaluate.sh": passing})

    assert (done.reward, done.mask_sample, done.failure_reason) == (1.0, False, None)
    record = lab.record()
    assert record.status is PlanStatus.GRADED
    assert [verdict.outcome for verdict in record.verdicts] == [StepOutcome.PASSED] * 2
    assert {timing.phase for timing in record.timings} >= {"queue", "seed", "evaluate"}
    assert record.evidence[0].summary == "looked at first"
    assert "plans/mvp.test1/vibench/evaluate.log" in lab.kept()


async def test_a_seed_that_fails(lab: VibenchLab) -> None:
    done = await lab.grade({"agent-seed.sh": "echo cannot do that\nexit 1\n"}, retries=1)

    assert measured(done) == (0.0, True, "seeding_failed")
    record = lab.record()
    assert record.status is PlanStatus.SEEDING_FAILED
    assert record.attempts == 2
    assert "cannot do that" in lab.kept()["plans/mvp.test1/vibench/seed.log"].decode()


async def test_the_app_at_fault_is_a_zero(lab: VibenchLab) -> None:
    broken = FakeStackBuilder(prepare_errors=[AppSetupFailed("it breaks")])
    done = await lab.grade({"agent-seed.sh": "exit 1\n"}, control=broken, retries=1)

    assert measured(done) == (0.0, False, None)
    assert lab.record().status is PlanStatus.SETUP_FAILED
    assert lab.record().attempts == 1


async def test_evaluations_end_each_for_itself(lab: VibenchLab) -> None:
    names = ("good", "fails", "malformed", "forged")
    lab.plans = tuple(make_plan(f"mvp.{name}", [(name, "Look.", 5)]) for name in names)
    good, fails, malformed, forged = (card(plan, [True]) for plan in lab.plans)
    says = {
        "good": judge(good),
        "fails": judge(fails, code=4),
        "malformed": judge(malformed[:-4]),
        "forged": judge(forged.replace('"score": 5', '"score": Infinity')),
    }
    cases = "".join(f"*'<name>{name}<'*)\n{text}\n;;\n" for name, text in says.items())
    done = await lab.grade({"agent-evaluate.sh": f"case $(cat /test-plan.txt) in\n{cases}esac\n"})

    assert measured(done) == (0.25, True, "grader_model_failed")
    records = [lab.record(number) for number in range(4)]
    assert [(str(one.status), one.failure_kind) for one in records] == [
        ("graded", None),
        ("grader_failed", "grader_model_failed"),
        ("grader_failed", "verdict_unusable"),
        ("graded", None),
    ]
    assert records[3].verdicts[0].outcome is StepOutcome.BLOCKED
    assert "the judge's card was forged" in records[3].flags


@pytest.mark.parametrize(
    "scripts",
    [
        {"on-build.sh": HANGS},
        {"agent-seed.sh": HANGS},
        {"agent-evaluate.sh": f"while true; do echo {'talk' * 50}; done\n"},
    ],
    ids=["build", "seed", "evaluate"],
)
async def test_time_is_up(lab: VibenchLab, scripts: dict[str, str]) -> None:
    done = await lab.grade(scripts, plan_timeout_s=15)

    assert measured(done) == (0.0, True, "budget_exceeded")
    assert lab.record().status is PlanStatus.GRADER_FAILED
    assert all(len(data) < 3_000_000 for data in lab.kept().values())


async def test_a_grading_that_is_cancelled(lab: VibenchLab) -> None:
    grading = asyncio.create_task(lab.grade({"agent-seed.sh": HANGS}))
    await until(lambda: bool(running(lab.token)))
    grading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await grading
    assert lab.results.plan("mvp.test1").read_record() is None


TESTS = Path(__file__).resolve().parents[1]
KILLED = """
import asyncio, sys
from pathlib import Path
from support.docker.vibench_lab import VibenchLab

async def main():
    lab = VibenchLab(Path(sys.argv[1]), sys.argv[2])
    await lab.grade({sys.argv[3]: "sleep 1000\\n"})

asyncio.run(main())
"""


@pytest.mark.parametrize("script", ["on-build.sh", "agent-evaluate.sh"])
async def test_a_server_that_is_killed(lab: VibenchLab, tmp_path: Path, script: str) -> None:
    folder, place = tmp_path / "killed", tmp_path / "tmp"
    folder.mkdir()
    place.mkdir()
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED, str(folder), lab.token, script),
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(TESTS)},
    )
    wanted = "evaluate" if script == "agent-evaluate.sh" else ""
    await until(lambda: any(wanted in name for name in running(lab.token)))
    server.kill()
    await server.wait()

    await until(lambda: not list(place.glob(f"{PREFIX}*")))
    assert not processes_of(lab.token)


def running(token: str) -> list[str]:
    """Containers of a test's scripts that run, builds with them."""
    ask = ["docker", "container", "ls", "--format", "{{.Image}}{{.Names}}"]
    ask.append(f"--filter=label=stub={token}")
    return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()


def processes_of(token: str) -> list[str]:
    """Processes that have the word among their arguments."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if token in line]
