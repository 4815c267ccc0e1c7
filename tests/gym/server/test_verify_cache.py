# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One grading per key, whoever asks and whoever goes away, and the answer that is stored of it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from support.gym_servers.in_process import until
from vibench_gym.gym.server.answers import unmeasured_answer
from vibench_gym.gym.server.verify_cache import GradingResult, VerifyCache
from vibench_gym.sandbox.locks import try_lock

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.gym.wire import VerifyAnswer

pytestmark = pytest.mark.gym
KEY = "ab" * 32


def answer(reason: str = "x") -> VerifyAnswer:
    return unmeasured_answer(["test1"], "verifier_error", reason)


class Grading:
    """A grading that a test lets go, and what happened to it."""

    def __init__(self, *, final: bool = True, open_gate: bool = True) -> None:
        self.final = final
        self.gate = asyncio.Event()
        self.begun = self.cancelled = 0
        self.cleanup = asyncio.Event()
        self.cleanup.set()
        if open_gate:
            self.gate.set()

    async def __call__(self) -> GradingResult:
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await self.cleanup.wait()
            raise
        return GradingResult(answer(f"grading {self.begun}"), final=self.final)


def test_a_reason_that_is_no_text_can_be_answered_and_acts_on_nobody() -> None:
    made = unmeasured_answer(["test1"], "verifier_error", "the app says \x1b[2J\ud83d")
    assert type(made).model_validate_json(made.model_dump_json()) == made
    assert made.failure_reason == "the app says \\u001b[2J\\ud83d"
    assert made.results[0].error == made.failure_reason


async def test_what_is_final_is_stored_and_what_is_not_is_asked_again(tmp_path: Path) -> None:
    final, passing = Grading(), Grading(final=False)
    rollouts = VerifyCache(tmp_path / "answers")

    assert await rollouts.answer(KEY, final) == await rollouts.answer(KEY, final)
    assert final.begun == 1
    for _ in range(2):
        await rollouts.answer("cd" * 32, passing)
    assert passing.begun == 2
    assert rollouts.stored("cd" * 32) is None


async def test_one_of_two_callers_may_go_away(tmp_path: Path) -> None:
    grading = Grading(open_gate=False)
    rollouts = VerifyCache(tmp_path / "answers")
    first = asyncio.create_task(rollouts.answer(KEY, grading))
    second = asyncio.create_task(rollouts.answer(KEY, grading))
    await until(lambda: grading.begun > 0)
    first.cancel()
    await asyncio.wait([first])
    grading.gate.set()

    assert (await second).failure_reason == "grading 1"
    assert grading.cancelled == 0


async def test_a_retry_waits_for_the_cleanup_of_what_was_cancelled(tmp_path: Path) -> None:
    grading = Grading(open_gate=False)
    grading.cleanup.clear()
    rollouts = VerifyCache(tmp_path / "answers")
    first = asyncio.create_task(rollouts.answer(KEY, grading))
    await until(lambda: grading.begun > 0)
    first.cancel()
    await until(lambda: grading.cancelled > 0)
    retries = [asyncio.create_task(rollouts.answer(KEY, grading)) for _ in range(2)]
    grading.gate.set()
    await asyncio.sleep(0.05)
    assert grading.begun == 1
    grading.cleanup.set()

    assert [(await retry).failure_reason for retry in retries] == ["grading 2"] * 2
    assert grading.begun == 2
    await until(lambda: not rollouts._flights)


async def test_closing_cancels_and_lets_clean_up(tmp_path: Path) -> None:
    grading = Grading(open_gate=False)
    rollouts = VerifyCache(tmp_path / "answers", cleanup_grace_s=5)
    call = asyncio.create_task(rollouts.answer(KEY, grading))
    await until(lambda: grading.begun > 0)
    await rollouts.aclose()

    assert grading.cancelled == 1
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not list((tmp_path / "answers").iterdir())


async def test_a_defect_reaches_every_caller_and_stores_nothing(tmp_path: Path) -> None:
    async def defect() -> GradingResult:
        await asyncio.sleep(0.01)
        raise LookupError("a defect")

    rollouts = VerifyCache(tmp_path / "answers")
    calls = (rollouts.answer(KEY, defect), rollouts.answer(KEY, defect))
    found = await asyncio.gather(*calls, return_exceptions=True)

    assert [str(error) for error in found] == ["a defect"] * 2
    assert rollouts.stored(KEY) is None


async def test_an_answer_of_another_version_is_graded_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rollouts = VerifyCache(tmp_path / "answers")
    (tmp_path / f"answers/{KEY}.json").write_text('{"reward": "much"}', encoding="utf-8")

    assert (await rollouts.answer(KEY, Grading())).failure_reason == "grading 1"
    assert "grading again" in caplog.text


async def test_a_full_disk_loses_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rollouts = VerifyCache(tmp_path / "answers")

    async def in_the_way() -> GradingResult:
        (tmp_path / f"answers/{KEY}.json").mkdir()
        return GradingResult(answer("kept"))

    assert (await rollouts.answer(KEY, in_the_way)).failure_reason == "kept"
    assert "could not be stored" in caplog.text


async def test_another_process_that_grades_the_same_is_waited_for(tmp_path: Path) -> None:
    rollouts = VerifyCache(tmp_path / "answers")
    grading = Grading()
    lock = try_lock(tmp_path / f"answers/{KEY}.lock")
    assert lock is not None
    call = asyncio.create_task(rollouts.answer(KEY, grading))
    await asyncio.sleep(0.05)
    assert grading.begun == 0
    theirs = answer("theirs").model_dump_json()
    (tmp_path / f"answers/{KEY}.json").write_text(theirs, encoding="utf-8")
    os.close(lock)

    assert (await call).failure_reason == "theirs"
    assert grading.begun == 0
