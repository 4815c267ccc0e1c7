# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Real stacks with small limits, for apps of `tests/apps` by name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from vibench_gym.core.config import MIB, ProcessLimits, StackConfig
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from vibench_gym.stack.local.builder import LocalPreparedApp
    from vibench_gym.stack.local.host import Host

APPS = Path(__file__).parent.parent / "apps"


class Prepare(Protocol):
    """Prepares an app of `tests/apps`; closed after the test."""

    async def __call__(
        self, name: str, *, log_path: Path | None = None, **settings: object
    ) -> LocalPreparedApp: ...


@pytest.fixture
def apps() -> Path:
    return APPS


@pytest.fixture
def small_limits() -> StackConfig:
    return StackConfig(
        setup_timeout_s=60,
        start_timeout_s=30,
        seed_timeout_s=20,
        probe_timeout_s=1,
        state_bytes=512 * MIB,
        app=ProcessLimits(memory_bytes=512 * MIB, processes=100, output_bytes=256 * 1024),
    )


@pytest.fixture(scope="session")
def host() -> Host:
    """This host's toolchain and templates, looked for once."""
    return asyncio.run(LocalStackBuilder(StackConfig(), with_browser=False).find_host())


@pytest.fixture
async def prepare(host: Host, small_limits: StackConfig) -> AsyncIterator[Prepare]:
    made: list[LocalPreparedApp] = []

    async def make(
        name: str, *, log_path: Path | None = None, **settings: object
    ) -> LocalPreparedApp:
        config = small_limits.model_copy(update=settings)
        builder = LocalStackBuilder(config, with_browser=False, host=host)
        app = await builder.prepare(APPS / name, log_path=log_path)
        made.append(app)
        return app

    yield make
    for app in made:
        await app.close()
