# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""When set-up is run again, and that nothing is left of a run that does not count."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import AppSetupFailed, SandboxUnavailable
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
from vibench_gym.stack.base import SetupReport
from vibench_gym.stack.setup_retry import set_up

if TYPE_CHECKING:
    from pathlib import Path


class Scripted:
    """A set-up that makes its folder and comes to the end that it is told."""

    def __init__(self, place: Path, error: Exception | None, *, retry_reason: bool) -> None:
        self.needs_retry = False
        self.work: WorkFolder | None = None
        self._place, self._error, self._retry_reason = place, error, retry_reason

    async def run(self) -> tuple[SetupReport, WorkFolder]:
        self.work = await asyncio.to_thread(WorkFolder, "setup", self._place)
        self.needs_retry = self._retry_reason
        if self._error is not None:
            raise self._error
        return SetupReport(0.0, 0, "", "3.13", "20"), self.work


def left(place: Path) -> list[Path]:
    return list(place.iterdir())


FAILED = AppSetupFailed("it ended with exit code 1")
FAULT = SandboxUnavailable("no zone")


@pytest.mark.parametrize(
    ("ends", "expected", "runs"),
    [
        ([(None, False)], None, 1),
        ([(None, True), (None, False)], None, 2),
        ([(None, True), (None, True)], None, 2),
        ([(FAILED, False)], FAILED, 1),
        ([(FAILED, True), (None, False)], None, 2),
        ([(FAILED, True), (FAILED, True)], FAILED, 2),
        ([(FAILED, True), (FAULT, False)], FAULT, 2),
        ([(FAULT, True)], FAULT, 1),
    ],
)
async def test_what_counts(
    tmp_path: Path, ends: list[tuple[Exception | None, bool]], expected: Exception | None, runs: int
) -> None:
    made: list[Scripted] = []

    def new() -> Scripted:
        error, retry_reason = ends[len(made)]
        made.append(Scripted(tmp_path, error, retry_reason=retry_reason))
        return made[-1]

    if expected is None:
        _, work = await set_up(new)
        assert left(tmp_path) == [work.path]
        work.remove()
    else:
        with pytest.raises(type(expected)) as raised:
            await set_up(new)
        assert raised.value is expected
    assert len(made) == runs
    assert left(tmp_path) == []
