# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One answer per rollout, however often and from however many processes it is asked for.

Calls for one key share one grading. Its answer is stored before anybody gets it, so that a call
after a lost connection or a restart gets the same one. When the last caller goes away, the grading
is cancelled and cleans up; a later call grades again, from what was measured by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from vibench_gym.core.durable import write_atomic
from vibench_gym.core.shown_log import shown_logger
from vibench_gym.gym.private_folder import private_folder
from vibench_gym.gym.wire import VerifyAnswer
from vibench_gym.sandbox.locks import try_lock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

_POLL_S: Final = 0.2
_MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
_LOG = shown_logger(__name__)


@dataclass(frozen=True, slots=True)
class GradingResult:
    """The outcome of one grading."""

    answer: VerifyAnswer
    final: bool = True
    """Whether it is stored for later calls; else they grade again."""


@dataclass(slots=True)
class _Flight:
    """One grading under way."""

    task: asyncio.Task[VerifyAnswer]
    waiting: int = 0

    @property
    def abandoned(self) -> bool:
        """Whether it was cancelled and only cleans up."""
        return self.task.cancelling() > 0


class VerifyCache:
    """Stored answers below one folder, and the gradings under way in this process.

    Args:
        folder: where answers are stored; processes with the same folder share them.
        cleanup_grace_s: how long a cancelled grading may take to clean up on `aclose`.
    """

    def __init__(self, folder: Path, *, cleanup_grace_s: float = 120.0) -> None:
        private_folder(folder)
        self._folder = folder
        self._grace_s = cleanup_grace_s
        self._flights: dict[str, _Flight] = {}

    async def answer(self, key: str, grade: Callable[[], Awaitable[GradingResult]]) -> VerifyAnswer:
        """The stored answer of a key (lowercase hexadecimal), or that of `grade`.

        Raises:
            Exception: what `grade` raised, to every caller that waited for it.
        """
        flight = await self._flight(key, grade)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()

    async def aclose(self) -> None:
        """Cancel what is under way and let it clean up, within its grace."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.task.cancel()
        if flights:
            await asyncio.wait([flight.task for flight in flights], timeout=self._grace_s)

    def stored(self, key: str) -> VerifyAnswer | None:
        """The stored answer; None where there is none that this version can read."""
        try:
            with self._path(key).open("rb") as file:
                return VerifyAnswer.model_validate_json(file.read(_MAX_ANSWER_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            _LOG.warning("the stored answer %s cannot be read, grading again: %s", key, error)
            return None

    async def _flight(self, key: str, grade: Callable[[], Awaitable[GradingResult]]) -> _Flight:
        while (flight := self._flights.get(key)) is not None and flight.abandoned:
            # The earlier grading must have ended: both would write to the same folder.
            await asyncio.wait([flight.task])
            if self._flights.get(key) is flight:
                del self._flights[key]
        if flight is None:
            task = asyncio.create_task(self._run(key, grade), name=f"grading {key[:12]}")
            flight = self._flights[key] = _Flight(task)
            task.add_done_callback(lambda done: self._landed(key, done))
        return flight

    def _landed(self, key: str, task: asyncio.Task[VerifyAnswer]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
        if not task.cancelled():
            task.exception()  # Retrieved here: perhaps nobody waits for it any more.

    async def _run(self, key: str, grade: Callable[[], Awaitable[GradingResult]]) -> VerifyAnswer:
        if (answer := self.stored(key)) is not None:
            return answer
        async with self._locked(key):
            if (answer := self.stored(key)) is not None:
                return answer
            result = await grade()
            if result.final:
                self._store(key, result.answer)
            return result.answer

    def _store(self, key: str, answer: VerifyAnswer) -> None:
        try:
            write_atomic(self._path(key), answer.model_dump_json())
        except OSError:
            # The answer is still good, even though a later call cannot get it from the store.
            _LOG.exception("the answer %s could not be stored", key)

    @contextlib.asynccontextmanager
    async def _locked(self, key: str) -> AsyncIterator[None]:
        """Keep other processes from grading the same; gone with the process."""
        path = self._folder / f"{key}.lock"
        while (descriptor := try_lock(path)) is None:  # noqa: ASYNC110 - another process frees it
            await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
