# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The compose stack: the same contract as the local stack, in containers of a Docker engine.

`prepare` runs the app's `setup-environment.sh` in containers with a fresh database and the registry
mirror, stops everything and keeps the files; `stack` makes fresh containers from them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.stack.cache import cache_root
from vibench_gym.stack.compose.engine import find_engine
from vibench_gym.stack.compose.images import choose_images
from vibench_gym.stack.compose.set_up import ComposeSetUp
from vibench_gym.stack.compose.stack import ComposeStack
from vibench_gym.stack.compose.template import find_compose_template
from vibench_gym.stack.registry.registries import find_registries
from vibench_gym.stack.setup_retry import set_up
from vibench_gym.stack.toolchain.toolchain import find_toolchain

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.config import ComposeConfig, StackConfig
    from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
    from vibench_gym.stack.base import Seed, SetupReport
    from vibench_gym.stack.compose.engine import Engine
    from vibench_gym.stack.compose.template import ComposeTemplate
    from vibench_gym.stack.registry.registries import Registries

_CLOSE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class ComposeHost:
    """What was found on this host, once."""

    engine: Engine
    images: ComposeConfig
    """The settings with every image named."""
    registries: Registries | None
    cache: Path
    template: ComposeTemplate


class ComposeStackBuilder:
    """Prepares apps in containers. See `vibench_gym.stack.base.StackBuilder`."""

    def __init__(self, config: StackConfig, *, host: ComposeHost | None = None) -> None:
        self._config = config
        self._finding = asyncio.Lock()
        self._host = host

    async def find_host(self) -> ComposeHost:
        """Find engine, images and registries, and make the template; once per builder.

        Raises:
            PrerequisiteMissing: a part is not there; says how to get it.
            DatabaseUnavailable: PostgreSQL does not work in its image.
            SandboxUnavailable: no containers can be made.
        """
        async with self._finding:
            if self._host is None:
                self._host = await self._find()
            return self._host

    async def _find(self) -> ComposeHost:
        engine = await find_engine(self._config.compose)
        config = self._config
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

    async def prepare(self, app_dir: Path, *, log_path: Path | None = None) -> ComposePreparedApp:
        """Run set-up once on a copy of `app_dir` and snapshot it.

        Raises:
            AppSetupFailed: `setup-environment.sh` failed, hung, or used more than it may.
            DatabaseUnavailable: PostgreSQL does not start from the template.
            PrerequisiteMissing: something is not installed on this host.
            RegistryUnavailable: a registry failed the script, and fails us, too.
            SandboxUnavailable: the containers cannot be made.
        """
        host = await self.find_host()
        config = self._config.model_copy(update={"compose": host.images})

        def new() -> ComposeSetUp:
            return ComposeSetUp(
                host.engine, config, host.template, registries=host.registries, cache=host.cache
            )

        report, work = await set_up(new, app_dir, log_path)
        return ComposePreparedApp(host, config, work=work, setup=report)


class ComposePreparedApp:
    """A snapshot and what it takes to stand it up. See `vibench_gym.stack.base.PreparedApp`."""

    def __init__(
        self, host: ComposeHost, config: StackConfig, *, work: WorkFolder, setup: SetupReport
    ) -> None:
        self._host = host
        self._config = config
        self._work = work
        self._setup = setup

    @property
    def setup(self) -> SetupReport:
        """What set-up did."""
        return self._setup

    def stack(self, *, log_path: Path | None = None, seed: Seed | None = None) -> ComposeStack:
        """A fresh stack; with `seed` it enters already seeded."""
        return ComposeStack(
            self._host.engine,
            self._config,
            snapshot=self._work.path,
            template=self._host.template.folder,
            log_path=log_path,
            seed=seed,
        )

    async def close(self) -> None:
        """Remove the snapshot; safe to call twice."""
        removing = asyncio.create_task(asyncio.to_thread(self._work.remove))
        try:
            await asyncio.shield(removing)
        except asyncio.CancelledError:
            await asyncio.wait({removing}, timeout=_CLOSE_TIMEOUT_S)
            raise
