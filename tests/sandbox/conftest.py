# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Zones for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.sandbox.zone import UidLease, Zone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MIB = 1024 * 1024


@pytest.fixture
def uids() -> Iterator[UidLease]:
    lease = UidLease.acquire()
    yield lease
    lease.release()


@pytest.fixture
async def zone(uids: UidLease) -> AsyncIterator[Zone]:
    async with Zone(snapshot=None, state_bytes=256 * MIB, uids=uids, name="test") as opened:
        yield opened
