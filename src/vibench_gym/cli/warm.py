# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym warm`: everything that needs the package registries, done once by `make setup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.core.config import StackConfig
from vibench_gym.core.task import artifacts_of, list_bundled, load_task
from vibench_gym.stack.local import LocalStackBuilder

if TYPE_CHECKING:
    from vibench_gym.cli.console import Progress


async def run_warm(progress: Progress) -> None:
    """Build the templates and run the set-up of every bundled reference app once.

    Raises:
        OperatorFault: this machine lacks something.
        SubmissionFault: a bundled app's set-up failed, most likely for want of a registry.
    """
    builder = LocalStackBuilder(StackConfig())
    for folder in list_bundled():
        for artifact in artifacts_of(folder):
            reference = load_task(folder, artifact).reference
            if reference is None or builder.is_warm(reference):
                continue
            progress.now(f"fetching what {folder.name}/{artifact} installs")
            await builder.warm(reference)
