# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The very scripts of a checkout, on a real engine: only the agents and their image are stand-ins.

`app-bench-base` holds a few of this host's programs, and in place of the agents' Python a shell
that runs what the app brings. Runs where VIBENCH_ROOT is a whole checkout.
"""

from __future__ import annotations

import secrets
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.docker.images import SHELL, import_image
from support.docker.vibench_lab import KEY, SEED, VibenchLab, card, judge
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.vibench.checkout import BASE_IMAGE, Checkout
from vibench_gym.grading.vibench.environment import SLOTS, grader_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POSTGRES = "postgres:17-alpine"
YES = "#!/bin/sh\nexit 0\n"
AGENTS = """#!/bin/sh
case $1 in
  seeding.py) . /app/agent-seed.sh ;;
  evaluation.py) . /app/agent-evaluate.sh ;;
esac
"""
STANDS = {
    "/agent-venv/bin/python": AGENTS,
    "/agent/none": "",
    **{f"/bin/{name}": YES for name in ("pg_isready", "supervisord", "curl", "git")},
}
PROGRAMS = (*SHELL, "bash", "seq", "tail", "ls")


@pytest.fixture
def checkout_root(vibench_root: Path) -> Path:
    if not (vibench_root / "_harness/runner/scripts").is_dir():
        pytest.skip("VIBENCH_ROOT is the data alone: its graders are not there")
    return vibench_root


def test_env_creator_fills_every_slot(checkout_root: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.env"
    keys.write_text(f"ANTHROPIC_API_KEY={KEY}\nOPENAI_API_KEY={KEY[::-1]}\n", encoding="utf-8")
    found = grader_environment(Checkout.find(checkout_root), "Sonnet_4.5", keys)

    assert {found[f"{slot}_API_KEY"] for slot in SLOTS} == {KEY}
    assert found["AGENT_EVALUATION_LLM_TOOLS"]
    assert found["OPENAI_API_KEY"] == ""


def images() -> set[str]:
    ask = ["docker", "image", "ls", "--all", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}"]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


@pytest.fixture
def stand_ins(checkout_root: Path) -> Iterator[set[str]]:
    """The two images that the scripts start from; all images of the engine."""
    del checkout_root
    if any(line.startswith((BASE_IMAGE, POSTGRES)) for line in images()):
        pytest.skip("this engine has ViBench's images: they are not to be replaced")
    for image in (BASE_IMAGE, POSTGRES):
        import_image(image, PROGRAMS, STANDS)
    yield images()
    subprocess.run(["docker", "image", "rm", "-f", BASE_IMAGE, POSTGRES], check=True)


@pytest.mark.docker
@pytest.mark.timeout(900)
async def test_a_plan_through_the_scripts(
    checkout_root: Path, tmp_path: Path, stand_ins: set[str]
) -> None:
    lab = VibenchLab(tmp_path, secrets.token_hex(4), checkout_root=checkout_root)
    looks = "test -f /test_assets/photo.txt && test -f /seeding/seed.sh || exit 9\n"
    seed = f"test ! -e /test_assets || exit 9\n{SEED}"
    passing = looks + judge(card(lab.plans[0], [True, True]))
    serves = {"start-server.sh": "#!/bin/sh\nexec sleep 1000\n"}
    scripts = {"agent-seed.sh": seed, "agent-evaluate.sh": passing, **serves}
    done = await lab.grade(scripts)

    kept = lab.kept()
    said = {name: data.decode() for name, data in kept.items() if name.endswith(".log")}
    assert (done.reward, done.failure_reason) == (1.0, None), said
    assert lab.record().status is PlanStatus.GRADED
    assert "plans/mvp.test1/vibench/logs/app.log" in kept
    assert images() == stand_ins
