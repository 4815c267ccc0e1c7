# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Which folders of an app are left out: dependency trees and caches, which set-up makes again.

Only these: a virtualenv (it has `pyvenv.cfg`), `node_modules` beside a `package.json`, caches that
say so. A source folder that is merely called `env` stays.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vibench_gym.sandbox.archive.folders import FOLDER_FLAGS, names_in, remove_below

if TYPE_CHECKING:
    from collections.abc import Collection

    from vibench_gym.sandbox.archive.folders import Path
    from vibench_gym.sandbox.archive.members import BudgetMeter

_CACHES = frozenset({b"__pycache__", b".pytest_cache", b".mypy_cache", b".ruff_cache"})
_CACHE_TAG = b"CACHEDIR.TAG"
_NPM_CACHE = b"_cacache"


def is_dependency_tree(name: bytes, inside: Collection[bytes], beside: Collection[bytes]) -> bool:
    """Whether a folder is a dependency tree or cache, by its name, content and neighbours."""
    if b"pyvenv.cfg" in inside:
        return True
    if name == b"node_modules":
        return b"package.json" in beside
    if name in (b".npm", b".cache"):
        return _NPM_CACHE in inside or _CACHE_TAG in inside
    return name in _CACHES


def remove_dependency_trees(root: int, meter: BudgetMeter) -> list[Path]:
    """Remove the dependency trees below an open folder; where they were.

    Raises:
        ArtifactRejected: a folder holds more than the budget's members.
        OSError: our own file system failed.
    """
    removed: list[Path] = []
    _remove_below(root, (), meter, removed)
    return removed


def _remove_below(folder: int, at: Path, meter: BudgetMeter, removed: list[Path]) -> None:
    names = names_in(folder, meter)
    for name in names:
        try:
            child = os.open(name, FOLDER_FLAGS, dir_fd=folder)
        except OSError:
            continue
        try:
            inside = frozenset(names_in(child, meter))
            if not is_dependency_tree(name, inside, frozenset(names)):
                _remove_below(child, (*at, name), meter, removed)
                continue
            removed.append((*at, name))
        finally:
            os.close(child)
        remove_below(name, folder)
