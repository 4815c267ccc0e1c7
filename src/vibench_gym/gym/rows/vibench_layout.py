# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where things are in a ViBench checkout, and what is known about some of its tasks.

The same names serve the bundled tasks, whose folder is laid out like `prds/`. Needs no nemo-gym.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from vibench_gym.core.tasks.files import TaskFolder
from vibench_gym.core.tasks.references import CHECKOUT_RESULTS, CHECKOUT_TREE
from vibench_gym.core.tasks.task import MVP, ON_MVP

if TYPE_CHECKING:
    from collections.abc import Mapping

PRDS = "prds"
PROMPTS = Path("_harness/runner/agent/prompts")


def prds_folder(root: Path) -> Path:
    """The folder of the apps: `prds/` of a checkout, else the root itself."""
    return root / PRDS if (root / PRDS).is_dir() else root


def family(artifact: str) -> str:
    """The artifact whose plans and PRD are meant: `feature1` for `feature1-on_mvp`."""
    return artifact.removesuffix(ON_MVP)


def reference_tree(task_dir: Path, artifact: str) -> Path | None:
    """The reference implementation of a task's artifact: the task's own, else the checkout's.

    A checkout has them for MVPs only. Paths that lead out of the task or the checkout do not count.
    """
    candidates = [(task_dir, task_dir / "reference" / family(artifact))]
    if artifact == MVP and task_dir.parent.name == PRDS:
        root = task_dir.parent.parent
        candidates.append((root, root / CHECKOUT_RESULTS / task_dir.name / CHECKOUT_TREE))
    for top, tree in candidates:
        if tree.is_dir() and TaskFolder(top).stays_inside(tree):
            return tree
    return None


@cache
def known_exceptions() -> Mapping[str, Mapping[str, str]]:
    """Plans of the public benchmark that are graded though invalid: app -> plan -> reason."""
    loaded: dict[str, dict[str, str]] = _read("known_exceptions.yaml")
    return loaded


@cache
def app_key_artifacts() -> Mapping[str, Mapping[str, str]]:
    """Artifacts of which the app itself calls a model: app -> artifact -> what for."""
    loaded: dict[str, dict[str, str]] = _read("app_key_artifacts.yaml")
    return loaded


def needs_app_key(app: str, artifact: str) -> bool:
    """Whether the app that is to be built calls a model when it is used."""
    return family(artifact) in app_key_artifacts().get(app, {})


def _read(name: str) -> dict[str, dict[str, str]]:
    text = files("vibench_gym.gym.rows").joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = yaml.safe_load(text)
    return loaded
