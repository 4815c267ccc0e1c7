# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Two streams about a rollout: progress for the caller, and the stored events of each plan."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from vibench_gym.core.records import Event, EventKind, PhaseTiming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ProgressKind = Literal[
    "unpack", "setup", "plan_started", "seeding", "stack", "step", "check", "retry", "plan_done"
]


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One thing that just happened, for the caller."""

    kind: ProgressKind
    plan: str | None
    step: str | None
    message: str


type Progress = Callable[[ProgressEvent], None]


class EventLog:
    """Stamps events with the seconds since the plan started and hands them to a store."""

    def __init__(self, sink: Callable[[Event], None] | None = None) -> None:
        self._sink = sink
        self.restart()

    def restart(self) -> None:
        """The plan starts now: it has waited for its turn."""
        self._started = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the plan started."""
        return time.monotonic() - self._started

    def add(self, kind: EventKind, step: str | None = None, **data: Any) -> None:
        """Store one event."""
        if self._sink is not None:
            t = round(self.elapsed_s, 3)
            self._sink(Event(t=t, kind=kind, step=step, data=data))


class Stopwatch:
    """Seconds by phase; phases keep the order in which they were first measured."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add what happens inside to the phase, however it ends."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - start)

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to a phase."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def merge(self, timings: Mapping[str, float]) -> None:
        """Add a whole set of phases."""
        for name, seconds in timings.items():
            self.add(name, seconds)

    def records(self) -> tuple[PhaseTiming, ...]:
        """Everything measured, rounded to a tenth of a millisecond."""
        return tuple(PhaseTiming(phase=n, seconds=round(s, 4)) for n, s in self._seconds.items())
