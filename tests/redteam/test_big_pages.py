# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Pages that are huge, with what was asked for and without it.

Everything is real but for the model, which decides by what the browser shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.attacks.case import Seen, redteam
from support.big_pages import WORKING, app, dense, hidden, make_stock_task, page, table, text
from support.counter_app import write_files
from vibench_gym.core.config import BrowserConfig, GraderConfig, StackConfig
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.status import PlanStatus
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.grading.model_sources import ReplayModels
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.postgres,
    pytest.mark.browser,
    pytest.mark.timeout(600),
]
repeat, long = pytest.mark.repeat, pytest.mark.long
BULKS = {
    "table of 2,000": table(2_000),
    "table of 25,000": table(25_000),
    "table": table(27_000),
    "hidden": hidden(27_000),
    "table of 50,000": table(50_000),
    "hidden 100,000": hidden(100_000),
    "table of 200,000": table(200_000),
    "30 MB of text": text(200_000),
}
FIRST: dict[str, Any] = {"table of 2,000": (), "table": long}
ATTACKS = {
    "nothing behind its buttons": "",
    "a button that does nothing among many": (
        "at('bulk').insertAdjacentHTML('afterbegin', '<button>Finish</button>'.repeat(400))"
    ),
    "one feature of two": WORKING.replace("'Finished'", "''"),
}
PATIENT = BrowserConfig(action_timeout_s=60, navigation_timeout_s=60)
"""A machine may be busy: no case depends on how long a page takes."""
DESERVED = {"one feature of two": 0.4}


async def grade(root: Path, html: str) -> tuple[RolloutRecord, PlanStatus]:
    task = make_stock_task(root)
    rollout = RunDir(root / "run").rollout(task, "app")
    async with ReplayModels(task) as models:
        grader = Grader(
            stacks=LocalStackBuilder(StackConfig(egress="none")),
            models=models,
            browsers=PlaywrightLauncher(PATIENT),
            config=GraderConfig(second_look_wait_s=0.1),
        )
        graded = await grader.grade(
            task, write_files(root / "app", app(html)), rollout=rollout, label="app"
        )
    record = rollout.plan(task.plans[0].id).read_record()
    assert record is not None
    return graded, record.status


@pytest.mark.parametrize(
    "bulk",
    [pytest.param(bulk, id=name, marks=FIRST.get(name, repeat)) for name, bulk in BULKS.items()],
)
@redteam(
    "page",
    gain="(honest twin) none: its page is big, and all of it works",
    expected="1.0",
    defences=["big_pages_folded"],
)
async def test_a_big_page_that_works(bulk: str, tmp_path: Path, seen: Seen) -> None:
    graded, status = await grade(tmp_path, page(bulk))
    seen(f"{status}, reward {graded.reward:g}")
    assert (status, graded.reward, graded.mask_sample) == (PlanStatus.GRADED, 1.0, False)


@redteam(
    "page",
    gain="(honest twin) none: there is much to read on its screen, and its buttons work",
    expected="1.0",
    defences=["usable_stays_shown", "big_pages_folded"],
)
@pytest.mark.long
async def test_a_dense_page_that_works(tmp_path: Path, seen: Seen) -> None:
    graded, status = await grade(tmp_path, page(dense(27_000)))
    seen(f"{status}, reward {graded.reward:g}")
    assert (status, graded.reward, graded.mask_sample) == (PlanStatus.GRADED, 1.0, False)


@pytest.mark.parametrize(
    "attack",
    [pytest.param(name, marks=repeat if at else long) for at, name in enumerate(ATTACKS)],
)
@redteam(
    "page",
    gain="hide that its features are missing on a page too big to look at, or be masked for it",
    expected="what it has, and never masked",
)
async def test_a_big_page_without_its_features(attack: str, tmp_path: Path, seen: Seen) -> None:
    graded, status = await grade(tmp_path, page(BULKS["table"], ATTACKS[attack]))
    seen(f"{status}, reward {graded.reward:g}")
    assert (status, graded.mask_sample) == (PlanStatus.GRADED, False)
    assert graded.reward == DESERVED.get(attack, 0.0)
