# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the compose stack needs from the host: looked for once, then shared."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.stack.cache import cache_root
from vibench_gym.stack.compose.engine import find_engine
from vibench_gym.stack.compose.images import choose_images
from vibench_gym.stack.compose.template import find_compose_template
from vibench_gym.stack.packages.registries import find_registries
from vibench_gym.stack.toolchain.toolchain import find_toolchain

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import ComposeConfig, StackConfig
    from vibench_gym.stack.compose.engine import Engine
    from vibench_gym.stack.compose.template import ComposeTemplate
    from vibench_gym.stack.packages.registries import Registries


@dataclass(frozen=True, slots=True)
class ComposeHost:
    """What was found on this host, once; builders may share it."""

    engine: Engine
    images: ComposeConfig
    """The settings with every image named."""
    registries: Registries | None
    cache: Path
    template: ComposeTemplate


async def find_compose_host(config: StackConfig) -> ComposeHost:
    """Find engine, images and registries, and make the template where it is missing.

    Raises:
        PrerequisiteMissing: a part is not there; says how to get it.
        DatabaseUnavailable: PostgreSQL does not work in its image.
        SandboxUnavailable: no containers can be made.
    """
    engine = await find_engine(config.compose)
    images = await choose_images(engine, config.compose)
    config = config.model_copy(update={"compose": images})
    cache = await asyncio.to_thread(cache_root, config)
    registries = None
    if config.egress != "none":
        toolchain = await asyncio.to_thread(find_toolchain, config)
        hosts = config.extra_registry_hosts
        registries = await asyncio.to_thread(find_registries, toolchain, hosts)
    template = await find_compose_template(engine, config, cache)
    return ComposeHost(engine, images, registries, cache, template)
