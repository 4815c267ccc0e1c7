# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the task of a row, and the few parts of the task that the builder's side may see.

A row names files, but only files of its own task. PRDs must be below `prd/`, builder assets below
`assets/`, and plans must be among those that were loaded and checked. A row that names any other
path is refused, without a look at what is there.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from vibench_gym.core.errors import ConfigError, Problem, TaskInvalid
from vibench_gym.core.tasks.files import TaskFolder
from vibench_gym.core.tasks.task import Task, bundled_tasks_dir, load_task
from vibench_gym.gym.rows.rows import prd_paths
from vibench_gym.gym.rows.starting_tree import NoStartingTree, starting_tree
from vibench_gym.gym.rows.vibench_layout import known_exceptions, needs_app_key, prds_folder
from vibench_gym.gym.wire import BuilderAsset, VibenchSeedSessionResponse, VibenchTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vibench_gym.core.artifact import ArtifactStore
    from vibench_gym.core.tasks.plan import TestPlan

_APP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MAX_PRDS = 32
MAX_ASSETS = 5000


@dataclass(frozen=True, slots=True)
class TaskRows:
    """Finds the tasks of rows below a ViBench root, else among the bundled ones."""

    vibench_root: Path | None = None
    max_asset_bytes: int = 64 * 1024 * 1024
    exceptions: Mapping[str, Mapping[str, str]] = field(default_factory=known_exceptions)
    store: ArtifactStore | None = None
    """Where starting trees are; without one, features are skipped."""
    app_model: bool = False
    """Whether apps that need a model of their own are given one."""

    def task(self, row: VibenchTask) -> Task:
        """The row's task with the row's plans, in the row's order.

        Raises:
            TaskInvalid: the task's files break the format, or the row names what it does not have.
            ConfigError: there is no such app.
        """
        folder = self._folder(row.app)
        task = load_task(folder, row.artifact, exceptions=self.exceptions.get(row.app))
        task = replace(task, needs_app_model=needs_model(row))
        if row.test_assets_dir is not None:
            # Grading takes the task's own folder; this only refuses a row that names another.
            _below(row, row.test_assets_dir, "test_assets")
        if not row.test_plans:
            return task
        return replace(task, plans=tuple(_chosen(row, task)))

    def seed(self, row: VibenchTask) -> VibenchSeedSessionResponse:
        """PRD texts, builder assets, and what a feature is built on top of.

        Raises:
            OSError: a starting tree cannot be stored.
            TaskInvalid: as `task`; or a PRD or an asset cannot be read, or there is too much.
            ConfigError: as `task`.
        """
        task = self.task(row)
        if reason := self.missing_model(row):
            return _skipped(reason)
        digest = None
        try:
            if self.store is not None:
                digest = starting_tree(row, task, self.store)
            elif task.base_artifact is not None:
                return _skipped("there is no store for starting trees")
        except NoStartingTree as missing:
            return _skipped(str(missing))
        base, feature = _prd_texts(row, task)
        return VibenchSeedSessionResponse(
            prd_text=base,
            feature_prd_text=feature,
            assets=list(self._assets(row, task)),
            starting_tree_sha256=digest,
            needs_app_key=needs_model(row),
        )

    def missing_model(self, row: VibenchTask) -> str:
        """Why the row's app cannot work here; empty where it can.

        An app that has to call a model and is given none would fail through our fault.
        """
        if self.app_model or not needs_model(row):
            return ""
        return (
            f"the app of {row.app}/{row.artifact} calls a model, and none is given to it: set "
            "app_key_env (VIBENCH_APP_KEY_ENV) to the variable with a key of its own"
        )

    def _folder(self, app: str) -> Path:
        if _APP.fullmatch(app) is None:
            raise ConfigError(f"no app can be named {app[:80]!r}")
        candidates = [bundled_tasks_dir() / app]
        if self.vibench_root is not None:
            candidates.insert(0, prds_folder(self.vibench_root) / app)
        for folder in candidates:
            if folder.is_dir():
                return folder
        raise ConfigError(
            f"no app {app!r} below {' or '.join(str(folder.parent) for folder in candidates)}; "
            "set vibench_repo_root (VIBENCH_REPO_ROOT) to a ViBench checkout"
        )

    def _assets(self, row: VibenchTask, task: Task) -> Iterator[BuilderAsset]:
        budget = self.max_asset_bytes
        seen: set[str] = set()
        for name in row.asset_dirs:
            relative = _below(row, name, "assets")
            top, start = task.root / "assets", task.root / relative
            if not start.is_dir():
                raise TaskInvalid([Problem(name, 1, "is no folder of the task")])
            for path in _visible_files(start, top):
                place = path.relative_to(top).as_posix()
                if place in seen:
                    continue
                seen.add(place)
                budget -= path.stat().st_size
                if budget < 0 or len(seen) > MAX_ASSETS:
                    limit = f"{self.max_asset_bytes} bytes or {MAX_ASSETS} files"
                    raise TaskInvalid([Problem(name, 1, f"holds more than {limit}")])
                content = base64.b64encode(path.read_bytes()).decode()
                yield BuilderAsset(path=place, content_base64=content)


def needs_model(row: VibenchTask) -> bool:
    """Whether the row's app calls a model: by what the row says, or by what is known of it."""
    return row.needs_app_key or needs_app_key(row.app, row.artifact)


def _skipped(reason: str) -> VibenchSeedSessionResponse:
    return VibenchSeedSessionResponse(prd_text="", skip_reason=reason)


def _below(row: VibenchTask, name: str, folder: str) -> PurePosixPath:
    """The path below the task's root of something the row names `prds/<app>/<folder>[/...]`.

    Raises:
        TaskInvalid: it is not there but elsewhere.
    """
    parts = PurePosixPath(name).parts
    if parts[:3] != ("prds", row.app, folder) or ".." in parts or "\0" in name:
        expected = f"prds/{row.app}/{folder}"
        raise TaskInvalid([Problem(name[:200], 1, f"is not below {expected} of the row's app")])
    return PurePosixPath(*parts[2:])


def _chosen(row: VibenchTask, task: Task) -> Iterable[TestPlan]:
    by_source = {plan.source: plan for plan in task.plans}
    chosen: dict[str, TestPlan] = {}
    for name in row.test_plans:
        source = str(_below(row, name, "tests"))
        if source not in by_source:
            message = f"is no plan of {row.app}/{row.artifact}"
            raise TaskInvalid([Problem(name, 1, message)])
        if source in chosen:
            raise TaskInvalid([Problem(name, 1, "stands twice in the row")])
        chosen[source] = by_source[source]
    return chosen.values()


def _prd_texts(row: VibenchTask, task: Task) -> tuple[str, str | None]:
    """The PRD of the app, and for a feature the PRD of what to add to it."""
    paths = [task.root / _below(row, name, "prd") for name in row.prd_files] or prd_paths(task)
    if len(paths) > _MAX_PRDS:
        raise TaskInvalid([Problem(row.app, 1, f"the row names more than {_MAX_PRDS} PRDs")])
    if task.base_artifact is None:
        return _joined(task, paths), None
    own = [path for path in paths if path.stem == task.source_artifact]
    return _joined(task, [path for path in paths if path not in own]), _joined(task, own)


def _joined(task: Task, paths: Sequence[Path]) -> str:
    texts = []
    for path in paths:
        text, problems = TaskFolder(task.root).read_text(path)
        if text is None:
            raise TaskInvalid(problems)
        texts.append(text)
    return "\n\n".join(texts)


def _visible_files(start: Path, top: Path) -> Iterator[Path]:
    """Regular files in a fixed order; links that lead out of the builder's folder are refused."""
    inside = top.resolve()
    for path in sorted(start.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(top).parts):
            continue
        if not path.resolve().is_relative_to(inside):
            raise TaskInvalid([Problem(str(path), 1, "leads out of the builder's assets")])
        if path.is_file():
            yield path
