# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""ViBench's graders over a stand-in for its checkout: Docker, Compose and files are real."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.docker.vibench_stub import TOKEN, make_checkout, make_judged_app
from support.grading import make_plan
from vibench_gym.core.config import ArchiveBudget, VibenchConfig
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.tasks.task import Task
from vibench_gym.grading.vibench.checkout import Checkout, find_docker
from vibench_gym.grading.vibench.environment import grader_environment
from vibench_gym.grading.vibench.grader import VibenchGrader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vibench_gym.core.records import PlanRecord, RolloutRecord
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.stack.base import StackBuilder

KEY = "sk-live-Q7x2LmVt93RbHcZp0aWd81Ks"
SEED = "mkdir -p /seeding && echo 'echo seeded' > /seeding/seed.sh\n"


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true; the test's own time limit ends it."""
    while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - it has no event to offer
        await asyncio.sleep(0.1)


def card(plan: TestPlan, passed: Sequence[bool], **changes: Any) -> str:
    """The judge's card: which steps passed, and what is different about it."""
    steps = [
        {"description": f"looked at {step.name}", "points": step.points if good else 0}
        for step, good in zip(plan.steps, passed, strict=True)
    ]
    whole = {
        "test_overview": "all was looked at",
        "steps": steps,
        "score": sum(int(str(step["points"])) for step in steps),
        "full_points": plan.full_points,
    }
    return json.dumps({**whole, **changes})


def judge(text: str, code: int = 0) -> str:
    """An `agent-evaluate.sh` that leaves this card."""
    return f"cat > /evaluation-finished.json <<'END'\n{text}\nEND\nexit {code}\n"


@dataclass
class VibenchLab:
    """A checkout, a task, and a place for results."""

    root: Path
    token: str = "none"
    plans: tuple[TestPlan, ...] = field(default_factory=lambda: (make_plan("mvp.test1"),))

    checkout_root: Path | None = None
    """A real checkout; the stand-in if None."""

    def __post_init__(self) -> None:
        self.checkout = Checkout.find(
            self.checkout_root or make_checkout(self.root / "checkout"), Path(sys.executable)
        )
        self.env_file = self.root / "keys.env"
        self.env_file.write_text(f"ANTHROPIC_API_KEY={KEY}\n{TOKEN}={self.token}\n", "utf-8")
        self.results = RunDir(self.root / "run").rollout("shop", "one")
        self.assets = self.root / "test_assets"
        self.assets.mkdir()
        (self.assets / "photo.txt").write_text("a photo", encoding="utf-8")

    @property
    def task(self) -> Task:
        """The task that is graded."""
        return Task(
            name="shop",
            artifact="mvp",
            root=self.root,
            prd=(),
            plans=self.plans,
            test_assets=self.assets,
        )

    def grader(self, *, control: StackBuilder | None = None, **config: Any) -> VibenchGrader:
        """ViBench's graders over this checkout."""
        settings = {"plan_timeout_s": 600, "cleanup_grace_s": 60, "retries": 0, **config}
        return VibenchGrader(
            checkout=self.checkout,
            host=find_docker(self.checkout),
            environment=grader_environment(self.checkout, "Sonnet_4.5", self.env_file),
            config=VibenchConfig.model_validate(settings),
            archive=ArchiveBudget(),
            limiter=asyncio.Semaphore(2),
            control=control,
        )

    def app(self, scripts: Mapping[str, str]) -> Path:
        """An app that says what the agents do."""
        return make_judged_app(self.root / "app", {"agent-seed.sh": SEED, **scripts})

    async def grade(
        self,
        scripts: Mapping[str, str],
        *,
        control: StackBuilder | None = None,
        **config: Any,
    ) -> RolloutRecord:
        """Grade an app that says what the agents do."""
        grader = self.grader(control=control, **config)
        return await grader.grade(self.task, self.app(scripts), rollout=self.results, label="one")

    def record(self, number: int = 0) -> PlanRecord:
        """What is on disk about a plan."""
        record = self.results.plan(self.plans[number].id).read_record()
        if record is None:
            raise AssertionError("the plan has no record")
        return record

    def kept(self) -> dict[str, bytes]:
        """Every file of the results."""
        found = {}
        for parent, _, files in os.walk(self.results.path):
            for name in files:
                path = Path(parent, name)
                found[str(path.relative_to(self.results.path))] = path.read_bytes()
        return found
