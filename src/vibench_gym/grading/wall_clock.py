# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Watches the host's clock during one attempt: which day it is, and whether it was set.

Limits are measured by a monotonic clock. The wall clock matters because an agent is given a date
and an app reads the time: where the two differ in the middle of a plan, observations prove nothing.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ClockJumped

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE_S: Final = 5.0
"""Clocks are slewed and rounded; a host that sleeps or is set is off by more."""


class WallClock:
    """Starts when an attempt does. `now` gives seconds since the epoch, `ticks` never jumps."""

    def __init__(
        self, now: Callable[[], float] = time.time, ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._ticks = ticks
        self._offset = now() - ticks()
        self.today = self._day()

    def check(self) -> None:
        """Make sure that nobody has set the clock.

        Raises:
            ClockJumped: somebody has.
        """
        jumped = self._now() - self._ticks() - self._offset
        if abs(jumped) > TOLERANCE_S:
            raise ClockJumped(f"the host's clock jumped by {jumped:+.0f} s while a plan was tested")

    @property
    def day_ended(self) -> bool:
        """Whether the day that agents were told of is over."""
        return self._day() != self.today

    def _day(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).date().isoformat()
