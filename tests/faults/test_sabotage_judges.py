# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a page or an artifact does to the judge and to the grader: scored, never masked."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from support.faults.fault_lab import FaultLab, JudgeServer, fault_lab, refusal
from support.faults.fault_server import ok
from support.grading import check, end, failing, make_app, passing
from vibench_gym.browser.base import Observation
from vibench_gym.core.config import GraderConfig
from vibench_gym.core.errors import AppSetupFailed, AppStartFailed, BrowserFailed
from vibench_gym.llm.pruning import WITHHELD
from vibench_gym.testing.fakes.browser import FakeBrowser
from vibench_gym.testing.fakes.stack import FakeStack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults.endings import Point, Tell
    from support.faults.fault_server import Fault

CRASHED = Observation("", 0, "snapshot", "Error: the page has crashed", page_crashed=True)
SLOW = Observation("", 0, "snapshot", "Result: done", waited_on_app_s=900.0)
WORD = "the words that a provider does not read"


@dataclass
class PickyServer(JudgeServer):
    """An endpoint that refuses what it does not like, and long conversations."""

    word: str = "\0"
    most: int = 10**9
    talks: bool = False
    """What it was not shown, it talks about and calls no tool."""
    refused: int = 0

    def answer(self, request: dict[str, Any]) -> Fault:
        """A refusal, or what it would say."""
        text = json.dumps(request["messages"])
        if self.word in text or len(text) > self.most:
            self.refused += 1
            code = "content_filter" if self.word in text else "context_length_exceeded"
            return refusal(400, code)
        if self.talks and WITHHELD in text:
            return ok(content="I would rather not say.")
        return super().answer(request)


def picky(lab: FaultLab, *, word: str = "\0", most: int = 10**9, talks: bool = False) -> None:
    """Give the lab's endpoint its dislikes."""
    if isinstance(lab.server, PickyServer):
        lab.server.word, lab.server.most, lab.server.talks = word, most, talks


def pages(lab: FaultLab, shown: str | Observation) -> None:
    """What every page of every attempt shows."""
    lab.browsers.queued.extend(FakeBrowser(otherwise=shown) for _ in range(4))


def blocked(lab: FaultLab) -> None:
    """An agent that says that it cannot see the first page."""
    unseen = check("first", outcome="blocked", reason="it is withheld")
    calls = [("snapshot", {}), unseen, unseen, end("first", "blocked"), ("finish", {})]
    lab.server.scripts["qa"] = calls


def words_a_provider_does_not_read(lab: FaultLab) -> None:
    picky(lab, word=WORD)
    pages(lab, f"Result: done\n{WORD}")
    blocked(lab)


def words_a_provider_does_not_read_and_a_judge_that_passes_blindly(lab: FaultLab) -> None:
    picky(lab, word=WORD)
    pages(lab, f"Result: done\n{WORD}")


def words_a_provider_does_not_read_and_a_judge_that_only_talks(lab: FaultLab) -> None:
    picky(lab, word=WORD, talks=True)
    pages(lab, f"Result: done\n{WORD}")


def pages_longer_than_the_judges_memory(lab: FaultLab) -> None:
    picky(lab, most=30_000)
    pages(lab, "Result: done\n" + "x" * 39_000)
    blocked(lab)


def many_pages_longer_than_the_judges_memory(lab: FaultLab) -> None:
    picky(lab, most=60_000)
    pages(lab, "Result: done\n" + "x" * 20_000)
    lab.server.scripts["qa"] = [("snapshot", {})] * 8 + passing(lab.the_plan)


def crashes_its_page(lab: FaultLab) -> None:
    pages(lab, CRASHED)
    lab.server.scripts["qa"] = failing(lab.the_plan, "first")


def takes_the_browser_down(lab: FaultLab) -> None:
    for _ in range(2):
        lost = FakeBrowser(["Result: done", BrowserFailed("Chromium is gone")])
        lab.browsers.queued.extend((lost, FakeBrowser()))


def is_slower_than_its_time(lab: FaultLab) -> None:
    lab.config = GraderConfig(second_look_wait_s=0.0, app_time_per_plan_s=0.0)
    pages(lab, SLOW)


def has_more_to_look_at_than_actions(lab: FaultLab) -> None:
    lab.config = GraderConfig(second_look_wait_s=0.0, max_actions_per_step=5)
    bad = check("first", outcome="blocked", reason="still looking")
    lab.server.scripts["qa"] = [("snapshot", {})] * 5 + [bad, bad, end("first", "blocked")]
    lab.server.scripts["qa"] += [("finish", {})]


def talks_the_judge_into_a_refused_verdict_once(lab: FaultLab) -> None:
    wrong = check("second")
    lab.server.scripts["qa"] = [wrong, *passing(lab.the_plan)]


def set_up_fails(lab: FaultLab) -> None:
    lab.stacks.prepare_errors.append(AppSetupFailed("npm ERR!"))


def does_not_start(lab: FaultLab) -> None:
    lab.stacks.queued.append(FakeStack(enter_error=AppStartFailed("listens on 3000")))


def leaves_a_database_that_does_not_start(lab: FaultLab) -> None:
    broken = AppSetupFailed("the database does not start on what set-up left of it")
    lab.stacks.queued.extend(FakeStack(enter_error=broken) for _ in range(2))


PAGES: list[tuple[Point, Callable[[FaultLab], None], float]] = [
    ("model", words_a_provider_does_not_read, 0.0),
    ("model", words_a_provider_does_not_read_and_a_judge_that_passes_blindly, 0.0),
    ("model", words_a_provider_does_not_read_and_a_judge_that_only_talks, 0.0),
    ("model", pages_longer_than_the_judges_memory, 0.0),
    ("model", many_pages_longer_than_the_judges_memory, 1.0),
    ("browser", crashes_its_page, 0.0),
    ("browser", takes_the_browser_down, 0.3),
    ("browser", is_slower_than_its_time, 0.0),
    ("verdicts", has_more_to_look_at_than_actions, 0.0),
    ("verdicts", talks_the_judge_into_a_refused_verdict_once, 1.0),
    ("set-up", set_up_fails, 0.0),
    ("app", does_not_start, 0.0),
    ("database", leaves_a_database_that_does_not_start, 0.0),
]


@pytest.mark.parametrize(
    ("point", "breaks", "reward"), PAGES, ids=lambda p: getattr(p, "__name__", "")
)
async def test_a_page_masks_nothing(
    tmp_path: Path, tell: Tell, point: Point, breaks: Callable[[FaultLab], None], reward: float
) -> None:
    server = PickyServer()
    async with fault_lab(tmp_path, for_good=True, server=server) as lab:
        breaks(lab)
        came_to = await lab.end()
        if point == "model":
            assert server.refused
            # A judge that only forgets old pages has seen the page that it judges.
            withheld = any("withheld" in flag for flag in lab.plan().flags)
            assert withheld == (breaks is not many_pages_longer_than_the_judges_memory)
    tell(breaks.__name__, point, "sabotage", came_to)
    assert (came_to.verdict, came_to.reward) == ("scored", reward), came_to


# --- artifacts


def an_empty_folder(root: Path) -> Path:
    (root / "app").mkdir()
    return root / "app"


def rubbish(root: Path) -> Path:
    (root / "app.tar").write_bytes(b"not an archive" * 1000)
    return root / "app.tar"


def half_an_archive(root: Path) -> Path:
    with tarfile.open(root / "whole.tar.gz", "w:gz") as tar:
        tar.add(make_app(root / "app"), ".")
    data = (root / "whole.tar.gz").read_bytes()
    (root / "app.tar.gz").write_bytes(data[: len(data) // 2])
    return root / "app.tar.gz"


def scripts_that_are_links(root: Path) -> Path:
    folder = an_empty_folder(root)
    for name in ("setup-environment.sh", "start-server.sh"):
        (folder / name).symlink_to("/bin/true")
    return folder


def a_hole_of_a_terabyte(root: Path) -> Path:
    folder = make_app(root / "app")
    with (folder / "big").open("wb") as file:
        file.truncate(2**40)
    return folder


def a_folder_within_folders_without_end(root: Path) -> Path:
    folder = deep = make_app(root / "app")
    for _ in range(200):
        deep = deep / "d"
    deep.mkdir(parents=True)
    return folder


def nobody_may_read_it(root: Path) -> Path:
    folder = make_app(root / "app")
    (folder / "secret").write_text("x", encoding="utf-8")
    (folder / "secret").chmod(0)
    return folder


ARTIFACTS: list[tuple[Callable[[Path], Path], float]] = [
    (an_empty_folder, 0.0),
    (rubbish, 0.0),
    (half_an_archive, 0.0),
    (scripts_that_are_links, 0.0),
    (a_hole_of_a_terabyte, 0.0),
    (a_folder_within_folders_without_end, 0.0),
    (nobody_may_read_it, 1.0),
]


@pytest.mark.parametrize(("make", "reward"), ARTIFACTS, ids=lambda p: getattr(p, "__name__", ""))
async def test_an_artifact_masks_nothing(
    tmp_path: Path, tell: Tell, make: Callable[[Path], Path], reward: float
) -> None:
    (tmp_path / "made").mkdir()
    async with fault_lab(tmp_path, for_good=True) as lab:
        came_to = await lab.end(make(tmp_path / "made"))
    tell(make.__name__, "archive", "sabotage", came_to)
    assert (came_to.verdict, came_to.reward) == ("scored", reward), came_to
