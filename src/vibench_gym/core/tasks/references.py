# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where reference implementations are: the MVPs that a checkout or a task ships.

<ViBench checkout>/results/<app>/RI_MVP/app
<task>/reference/mvp
"""

from __future__ import annotations

from pathlib import Path

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.tasks.task import MVP
from vibench_gym.core.tasks.files import TaskFolder

CHECKOUT_RESULTS = "results"
CHECKOUT_TREE = Path("RI_MVP", "app")


def reference_trees(root: Path) -> dict[str, Path]:
    """The reference MVPs below a checkout, a folder of tasks or one task, by app, in order.

    An app without one is left out, and so is a tree that links leave the root by.

    Raises:
        ConfigError: there is none at all.
    """
    results = root / CHECKOUT_RESULTS
    if results.is_dir():
        candidates = {app.name: app / CHECKOUT_TREE for app in _folders(results)}
    else:
        tasks = [root.absolute(), *_folders(root)]
        candidates = {task.name: task / "reference" / MVP for task in tasks}
    files = TaskFolder(root)
    found = {
        name: tree
        for name, tree in sorted(candidates.items())
        if tree.is_dir() and files.stays_inside(tree)
    }
    if not found:
        raise ConfigError(
            f"{str(root)!r} holds no reference implementation: neither"
            f" {CHECKOUT_RESULTS}/APP/{CHECKOUT_TREE} nor APP/reference/{MVP}"
        )
    return found


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
