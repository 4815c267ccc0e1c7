# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym images`: an image for the compose stack, where no image registry is at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.core.config import StackConfig
from vibench_gym.stack.compose.engine import find_engine
from vibench_gym.stack.compose.images import make_local_image

if TYPE_CHECKING:
    from vibench_gym.cli.console import Progress


async def run_images(tag: str | None, progress: Progress) -> None:
    """Make the image of this host's programs and tell its id.

    Raises:
        OperatorFault: there is no engine, or this host lacks a part.
    """
    config = StackConfig()
    name = tag or config.compose.app_image
    engine = await find_engine(config.compose)
    progress.now(f"{name}: from this host's programs")
    made = await make_local_image(engine, config, name)
    progress.done(f"{name}: {made}")
