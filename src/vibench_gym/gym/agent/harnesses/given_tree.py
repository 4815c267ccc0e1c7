# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Builders that build nothing: `oracle` hands over a tree that is there, `nop` an empty one.

For what no model is needed to know: whether the reference implementations are graded as they
should, whether a folder would be, whether nothing at all is worth nothing. What they hand over goes
the way of every built app: into the store, to `/verify` by its digest, into the report.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vibench_gym.core.errors import ConfigError, TaskInvalid
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.agent.build import Build
from vibench_gym.gym.rows.starting_tree import store_tree
from vibench_gym.gym.rows.vibench_layout import prds_folder, reference_tree
from vibench_gym.gym.wire import HarnessStatus
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from vibench_gym.core.artifact import ArtifactStore
    from vibench_gym.gym.wire import VibenchTask

type GivenKind = Literal["oracle", "nop"]


@dataclass(frozen=True, slots=True)
class GivenTree:
    """Hands over trees instead of building."""

    kind: GivenKind
    store: ArtifactStore
    vibench_root: Path | None = None
    """Where reference implementations are looked for before the bundled tasks."""
    pattern: str | None = None
    """A folder to hand over instead, `{app}` and `{artifact}` filled in."""

    def check(self) -> None:
        """See once that the settings are good.

        Raises:
            ConfigError: the folder is not absolute, or has other placeholders.
        """
        if self.pattern is not None and not self._named("app", "mvp").is_absolute():
            raise ConfigError(
                f"oracle_tree {self.pattern!r} is not absolute: servers run in different folders"
            )

    async def build(self, row: VibenchTask) -> Build:
        """The row's tree in the store; skipped where there is none.

        Raises:
            OSError: our own disk failed.
        """
        started = time.monotonic()
        try:
            digest = await asyncio.to_thread(self._stored, row.app, row.artifact)
        except (ConfigError, TaskInvalid) as fault:
            return Build(HarnessStatus.SKIPPED, str(fault))
        spent = time.monotonic() - started
        return Build(HarnessStatus.OK, artifact_sha256=digest, harvest_s=spent)

    def _stored(self, app: str, artifact: str) -> str:
        if self.kind == "nop":
            work = WorkFolder("nop")
            try:
                (work.path / "app").mkdir()
                return store_tree(work.path / "app", self.store)
            finally:
                work.remove()
        return store_tree(self._tree(app, artifact), self.store)

    def _tree(self, app: str, artifact: str) -> Path:
        if self.pattern is not None:
            tree = self._named(app, artifact)
            if tree.is_dir():
                return tree
            raise ConfigError(f"there is no folder {str(tree)!r} to grade (oracle_tree)")
        roots = [bundled_tasks_dir() / app]
        if self.vibench_root is not None:
            roots.insert(0, prds_folder(self.vibench_root) / app)
        task = next((folder for folder in roots if folder.is_dir()), None)
        found = None if task is None else reference_tree(task, artifact)
        if found is None:
            raise ConfigError(
                f"there is no reference implementation of {app}/{artifact}; oracle_tree names "
                "another folder to grade"
            )
        return found

    def _named(self, app: str, artifact: str) -> Path:
        try:
            filled = (self.pattern or "").format(app=app, artifact=artifact)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"oracle_tree {self.pattern!r} has other placeholders than {{app}} and {{artifact}}"
            ) from error
        return Path(filled).expanduser()
