# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym warm`: everything that needs the package registries, done once by `make setup`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from vibench_gym.core.artifact import tree_sha256
from vibench_gym.core.config import StackConfig
from vibench_gym.core.tasks.task import artifacts_of, list_bundled, load_task
from vibench_gym.stack.cache import cache_root
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vibench_gym.cli.console import Progress


async def run_warm(progress: Progress) -> None:
    """Build the templates and run the set-up of every bundled reference app once.

    What an earlier call fetched for the same files is not fetched again.

    Raises:
        OperatorFault: this machine lacks something.
        SubmissionFault: a bundled app's set-up failed, most likely for want of a registry.
    """
    config = StackConfig()
    builder = LocalStackBuilder(config, with_browser=False)
    stamps = cache_root(config) / "warm"
    stamps.mkdir(exist_ok=True)
    for reference in _references():
        stamp = stamps / await asyncio.to_thread(tree_sha256, reference)
        if stamp.exists():
            continue
        progress.now(f"fetching what {reference.parent.parent.name}/{reference.name} installs")
        prepared = await builder.prepare(reference)
        await prepared.close()
        stamp.touch()


def _references() -> Iterator[Path]:
    for folder in list_bundled():
        for artifact in artifacts_of(folder):
            reference = load_task(folder, artifact).reference
            if reference is not None:
                yield reference
