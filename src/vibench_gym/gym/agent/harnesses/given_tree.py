# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Harnesses that build nothing: `oracle` hands over an existing tree, `nop` an empty one.

They check the grading without a model: does the reference implementation score 1, how does some
other folder score, does an empty folder score 0? Their trees are treated like every built app: put
into the store, graded by `/verify` under their digest, shown in the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.agent.harnesses.base import NoSettings, TreeHarness
from vibench_gym.gym.rows.starting_tree import store_tree
from vibench_gym.gym.rows.vibench_layout import prds_folder, reference_tree
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from vibench_gym.core.artifact import ArtifactStore
    from vibench_gym.gym.wire import VibenchTask


class OracleSettings(BaseModel):
    """Settings of `oracle`."""

    oracle_tree: str | None = None
    """An absolute path to hand over, `{app}` and `{artifact}` filled in; references if None."""
    vibench_repo_root: str | None = None
    """Where the oracle finds reference implementations, before the bundled tasks'."""


@dataclass(frozen=True, slots=True)
class Oracle(TreeHarness):
    """Hands over a reference implementation, or a folder that the operator names."""

    name: ClassVar[str] = "oracle"
    settings_model: ClassVar[type[BaseModel]] = OracleSettings

    vibench_root: Path | None = None
    """Where reference implementations are looked for before the bundled tasks."""
    pattern: str | None = None
    """A folder to hand over instead, `{app}` and `{artifact}` filled in."""

    @classmethod
    def from_settings(cls, settings: OracleSettings) -> Self:
        """As the agent's settings say."""
        root = settings.vibench_repo_root
        return cls(Path(root).expanduser() if root else None, settings.oracle_tree)

    def check(self) -> None:
        """See once that the settings are good.

        Raises:
            ConfigError: the folder is not absolute, or has other placeholders.
        """
        if self.pattern is not None and not self._named("app", "mvp").is_absolute():
            raise ConfigError(
                f"oracle_tree {self.pattern!r} is not absolute: servers run in different folders"
            )

    def store_tree(self, row: VibenchTask, store: ArtifactStore) -> str:
        """The row's reference implementation, or the folder named for it."""
        return store_tree(self._tree(row.app, row.artifact), store)

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
        reference = None if task is None else reference_tree(task, artifact)
        if reference is None:
            raise ConfigError(
                f"there is no reference implementation of {app}/{artifact}; oracle_tree names "
                "another folder to grade"
            )
        return reference

    def _named(self, app: str, artifact: str) -> Path:
        try:
            filled = (self.pattern or "").format(app=app, artifact=artifact)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"oracle_tree {self.pattern!r} has other placeholders than {{app}} and {{artifact}}"
            ) from error
        return Path(filled).expanduser()


@dataclass(frozen=True, slots=True)
class Nop(TreeHarness):
    """Hands over an empty folder."""

    name: ClassVar[str] = "nop"

    @classmethod
    def from_settings(cls, settings: NoSettings) -> Self:
        """There is nothing to set."""
        del settings
        return cls()

    def check(self) -> None:
        """There is nothing to check."""

    def store_tree(self, row: VibenchTask, store: ArtifactStore) -> str:
        """An empty folder, for every row the same."""
        del row
        with WorkFolder("nop") as work:
            empty = work / "app"
            empty.mkdir()
            return store_tree(empty, store)
