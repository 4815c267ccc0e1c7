# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the tree that a feature is built on top of, in the artifact store by its digest.

The reference implementation of an MVP is put there when it is first needed; an earlier rollout's
MVP is there already. Invariant: no tree that a builder gets holds a test plan of its task.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from vibench_gym.core.errors import ArtifactRejected, Problem, SandboxUnavailable, TaskInvalid
from vibench_gym.core.tasks.plan import MAX_PLAN_BYTES
from vibench_gym.core.tasks.task import MVP, ON_MVP
from vibench_gym.gym.rows.vibench_layout import reference_tree
from vibench_gym.sandbox.archive.pack import pack_tree
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.artifact import ArtifactStore
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.gym.wire import VibenchTask


class NoStartingTree(Exception):
    """A feature has nothing to start from here; the message says why."""


def starting_tree(row: VibenchTask, task: Task, store: ArtifactStore) -> str | None:
    """The digest of the tree that a row's builder starts from; None if it starts from nothing.

    Raises:
        NoStartingTree: it is not to be had.
        OSError: the store cannot be written.
        TaskInvalid: the row names a tree for an MVP, or none for `-on_mvp`, or the tree is no app.
    """
    named = row.starting_tree
    if task.base_artifact is None:
        if named is not None:
            raise _invalid(row, "names a starting tree, but an MVP is built from nothing")
        return None
    if named is not None and named.sha256 is not None:
        return _stored(named.sha256, store)
    if row.artifact.endswith(ON_MVP):
        raise _invalid(row, "stands on an artifact that the row has to name by its sha256")
    tree = reference_tree(task.root, MVP)
    if tree is None:
        raise NoStartingTree(
            f"{row.app}/{row.artifact}: there is no reference implementation of its MVP to start "
            "from, neither reference/mvp of the task nor RI_MVP of the checkout's results/"
        )
    return store_tree(tree, store, task)


def store_tree(tree: Path, store: ArtifactStore, task: Task | None = None) -> str:
    """Put a folder into the store; the same content is the same digest.

    Raises:
        OSError: the store cannot be written.
        TaskInvalid: the folder is no app that could be graded, or holds a plan of the task.
    """
    if task is not None:
        _refuse_plans(tree, task)
    work = WorkFolder("tree")
    try:
        packed = work.path / "packed.tar"
        artifact, _ = pack_tree(tree, packed)
        try:
            store.path(artifact.sha256)
        except ArtifactRejected:
            store.put(packed)
    except ArtifactRejected as error:
        raise TaskInvalid([Problem(str(tree), 1, f"cannot be stored: {error}")]) from error
    except SandboxUnavailable as error:
        raise OSError(str(error)) from error
    finally:
        work.remove()
    return artifact.sha256


def _stored(digest: str, store: ArtifactStore) -> str:
    try:
        store.path(digest)
    except ArtifactRejected as error:
        raise NoStartingTree(
            f"the starting tree {digest} is not in the store {str(store.root)!r}: use the "
            "artifact_dir of the rollout that it comes from"
        ) from error
    return digest


def _refuse_plans(tree: Path, task: Task) -> None:
    digests = {plan.sha256 for plan in task.plans}
    objects = [name for plan in task.plans for name in _git_names(plan.text.encode())]
    for path in tree.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        small = path.stat().st_size <= MAX_PLAN_BYTES
        if small and hashlib.sha256(path.read_bytes()).hexdigest() in digests:
            raise TaskInvalid([Problem(str(path), 1, "is a test plan, in a tree for builders")])
        if _holds_object(path, objects):
            problem = "holds a test plan in the history of a tree for builders"
            raise TaskInvalid([Problem(str(path), 1, problem)])


def _git_names(data: bytes) -> tuple[bytes, bytes]:
    """The names that git gives a file of this content, by either of its hashes."""
    named = b"blob %d\0" % len(data) + data
    return hashlib.sha1(named, usedforsecurity=False).digest(), hashlib.sha256(named).digest()


def _holds_object(path: Path, objects: list[bytes]) -> bool:
    """Whether a file is one of git's objects, or the index of a pack that has one of them."""
    if path.suffix == ".idx":
        index = path.read_bytes()
        return any(name in index for name in objects)
    return f"{path.parent.name}{path.name}" in {name.hex() for name in objects}


def _invalid(row: VibenchTask, message: str) -> TaskInvalid:
    return TaskInvalid([Problem(f"{row.app}/{row.artifact}", 1, message)])
