# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Limits how much is graded at once on this host, by all processes together.

A slot is a lock on a file: the kernel frees it when its holder ends, even by a kill. Within one
process slots are given in the order of asking; between processes there is no order.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final, Self

from vibench_gym.gym.private_folder import private_folder
from vibench_gym.sandbox.cleanup.work_folder import host_temporary_folder
from vibench_gym.sandbox.locks import try_lock

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_POLL_S: Final = 0.2


def default_slots_dir() -> Path:
    """A folder of this user on this host; never one that hosts share."""
    return host_temporary_folder() / f"vibench-gym-{os.geteuid()}" / "grading-slots"


class HostLimiter:
    """An async context manager that many tasks enter at once; at most `slots` are inside.

    Args:
        folder: where the slots' files are; processes with the same folder share them.
        slots: how many of them this process may use.

    Raises:
        ConfigError: the folder cannot be used safely.
    """

    def __init__(self, folder: Path, slots: int) -> None:
        self._folder = folder
        self._slots = slots
        self._turn = asyncio.Lock()
        self._held: list[int] = []
        private_folder(folder.parent)
        private_folder(folder)

    async def __aenter__(self) -> Self:
        """Wait for a slot."""
        async with self._turn:
            while (descriptor := self._try()) is None:  # noqa: ASYNC110 - another process frees it
                await asyncio.sleep(_POLL_S)
        self._held.append(descriptor)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give a slot back; which one does not matter."""
        os.close(self._held.pop())

    def _try(self) -> int | None:
        for number in range(self._slots):
            try:
                descriptor = try_lock(self._folder / str(number))
            except FileNotFoundError:  # an empty folder may be taken away
                private_folder(self._folder.parent)
                private_folder(self._folder)
                return None
            if descriptor is not None:
                return descriptor
        return None
