# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The compose stack on the test run's engine: one local image and one template for all tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vibench_gym.core.config import MIB, ComposeConfig, ProcessLimits, StackConfig
from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.stack.compose.builder import ComposeStackBuilder
from vibench_gym.stack.compose.engine import find_engine
from vibench_gym.stack.compose.images import image_id, make_local_image

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.stack.compose.builder import ComposePreparedApp
    from vibench_gym.stack.compose.host import ComposeHost

IMAGE = "vibench-gym/stack-under-test"


def settings(cache: Path, **more: object) -> StackConfig:
    """Small limits, so that those who use them up are soon done."""
    return StackConfig(
        kind="compose",
        compose=ComposeConfig(app_image=IMAGE),
        cache_dir=cache,
        setup_timeout_s=90,
        start_timeout_s=60,
        seed_timeout_s=30,
        probe_timeout_s=2,
        state_bytes=512 * MIB,
        app=ProcessLimits(memory_bytes=512 * MIB, processes=100, output_bytes=256 * 1024),
    ).model_copy(update=more)


async def ready_image(config: StackConfig) -> None:
    """Make the image where the engine does not have it."""
    engine = await find_engine(config.compose)
    try:
        await image_id(engine, IMAGE)
    except PrerequisiteMissing:
        await make_local_image(engine, config, IMAGE)


@dataclass
class ComposeLab:
    """Prepares apps of a folder; all are closed at the end."""

    apps: Path
    host: ComposeHost
    cache: Path
    made: list[ComposePreparedApp] = field(default_factory=list)

    async def prepare(
        self, name: str, *, log_path: Path | None = None, **more: object
    ) -> ComposePreparedApp:
        """Set an app up, with other settings where they are named."""
        builder = ComposeStackBuilder(settings(self.cache, **more), host=self.host)
        app = await builder.prepare(self.apps / name, log_path=log_path)
        self.made.append(app)
        return app

    async def close(self) -> None:
        """Close all that was prepared."""
        await asyncio.gather(*(app.close() for app in self.made))
