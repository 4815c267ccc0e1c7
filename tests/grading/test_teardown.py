# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Teardown runs to its end whatever happens, and changes nothing; memory is watched meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from support.grading import agent, make_plan, passing
from vibench_gym.core.errors import BrowserFailed, SandboxUnavailable
from vibench_gym.grading import artifact, recording_browser
from vibench_gym.grading.context import PeakMemory
from vibench_gym.grading.teardown import close_shielded, launch_shielded, to_the_end
from vibench_gym.stack.base import StackUsage
from vibench_gym.testing.fakes.browser import FakeBrowser
from vibench_gym.testing.fakes.stack import FakeStack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from support.grading_lab import Lab
    from vibench_gym.browser.base import Browser, Observation
    from vibench_gym.core.config import ArchiveBudget


async def test_a_teardown_goes_on_when_the_caller_is_cancelled() -> None:
    closed, started = asyncio.Event(), asyncio.Event()

    async def close() -> None:
        started.set()
        await asyncio.sleep(0.05)
        closed.set()

    task = asyncio.create_task(close_shielded(close(), pytest.fail))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()


async def test_a_teardown_that_hangs_is_given_up() -> None:
    errors: list[str] = []
    await close_shielded(asyncio.Event().wait(), errors.append, 0.02)
    assert errors == ["the teardown did not end in 0.02 s"]


async def test_a_browser_that_comes_up_for_a_cancelled_caller_is_closed() -> None:
    browser, started = FakeBrowser(), asyncio.Event()

    async def launch() -> Browser:
        started.set()
        await asyncio.sleep(0.05)
        return browser

    task = asyncio.create_task(launch_shielded(launch()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert browser.closed


async def test_a_launch_that_fails_for_a_cancelled_caller_is_forgotten() -> None:
    started = asyncio.Event()

    async def launch() -> Browser:
        started.set()
        await asyncio.sleep(0.01)
        raise BrowserFailed("no")

    task = asyncio.create_task(launch_shielded(launch()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_grader_fault_in_a_teardown_is_reported_not_raised() -> None:
    async def close() -> None:
        raise BrowserFailed("already gone")

    errors: list[str] = []
    await close_shielded(close(), errors.append)
    assert errors == ["teardown: already gone"]


async def test_a_defect_in_a_teardown_is_raised() -> None:
    async def close() -> None:
        raise KeyError("defect")

    with pytest.raises(KeyError):
        await close_shielded(close(), pytest.fail)


async def test_the_peak_is_kept_and_failed_samples_are_left_out() -> None:
    class Dying(FakeStack):
        async def usage(self) -> StackUsage:
            if "usage" in self.calls:
                raise SandboxUnavailable("gone")
            self.calls.append("usage")
            return StackUsage(7, 1, 1)

    memory = PeakMemory()
    stack = Dying()
    for _ in range(2):
        async with memory.watching(stack):
            await asyncio.sleep(0)
    assert memory.bytes == 7


async def test_a_browser_that_cannot_be_closed_changes_no_verdict(lab: Lab) -> None:
    class Stuck(FakeBrowser):
        async def close(self) -> None:
            raise BrowserFailed("the driver is gone")

    lab.browsers.queued.append(Stuck())
    assert (await lab.grade()).reward == 1.0
    assert lab.plan().attempts == 1
    assert lab.stacks.prepared[0].stacks[0].exited


async def test_a_browser_that_hangs_is_a_lost_browser(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_browser, "CALL_LIMIT_S", 0.02)

    class Hung(FakeBrowser):
        async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
            await asyncio.Event().wait()
            return await super().call(name, arguments)

    lab.browsers.queued.extend((Hung(), FakeBrowser(), Hung()))
    rollout = await lab.grade()
    assert not rollout.mask_sample
    assert "did not answer in" in lab.plan().verdicts[0].reason


async def test_our_file_system_failing_is_tried_again_then_masks(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = artifact._unpack, [1]

    def unpack(app: Path, destination: Path, budget: ArchiveBudget) -> artifact.Unpacked:
        if failures:
            failures.pop()
            raise SandboxUnavailable("no space left on device")
        return real(app, destination, budget)

    monkeypatch.setattr(artifact, "_unpack", unpack)
    assert (await lab.grade()).reward == 1.0
    failures += [1, 1]
    rollout = await lab.grade()
    assert rollout.mask_sample
    assert rollout.failure_kind == "sandbox_unavailable"
    assert not rollout.build_failed


async def test_a_second_call_in_the_turn_that_ended_the_plan_is_not_carried_out(lab: Lab) -> None:
    plan = make_plan(steps=(("first", "Look.", 1),))
    made = passing(plan)
    browser = FakeBrowser()
    lab.browsers.queued.append(browser)
    lab.agents(agent([*made[:2], [made[2], ("snapshot", {})], made[3]]))
    await lab.grade_plan(plan)
    assert len(browser.calls) == 1


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_caller_waits_for_what_is_still_written(*, fails: bool) -> None:
    begun, go, written = threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        begun.set()
        assert go.wait(60)
        written.set()
        if fails:
            raise OSError("the disk is full")

    task = asyncio.create_task(to_the_end(write))
    await asyncio.to_thread(begun.wait, 60)
    for _ in range(2):
        task.cancel()
        await asyncio.wait({task}, timeout=0.01)
        assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert written.is_set()


async def test_what_is_written_to_the_end_gives_its_result() -> None:
    assert await to_the_end(lambda: 7) == 7

    def full() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        await to_the_end(full)
