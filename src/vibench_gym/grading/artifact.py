# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Unpacks an artifact within its budgets, checks and digests it, and removes it afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vibench_gym.core.artifact import tree_sha256
from vibench_gym.core.errors import ArtifactRejected, ConfigError, SandboxUnavailable
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.grading.teardown import close_shielded
from vibench_gym.grading.untrusted.text import clip
from vibench_gym.sandbox.archive.app_scripts import check_buildable
from vibench_gym.sandbox.archive.unpack import unpack
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from vibench_gym.core.config import ArchiveBudget
    from vibench_gym.sandbox.archive.members import DroppedMember

_HINTED: Final = 5
"""Links that a failure names; the record of set-up has all of them."""
_HINT_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Unpacked:
    """An artifact's files. `rejected` says why it cannot be built, None for one that can."""

    app_dir: Path
    tree_sha256: str | None
    """Digest of the files (`core.artifact`), None where unpacking failed."""
    dropped: tuple[str, ...] = ()
    rejected: ArtifactRejected | None = None
    hint: str = ""
    """What unpacking left out that may be why the app does not stand, to end its failure with."""


@contextlib.asynccontextmanager
async def unpacked(app: Path, budget: ArchiveBudget) -> AsyncIterator[Unpacked]:
    """Unpack an archive, or copy a folder, into a private place that is removed afterwards.

    Raises:
        ConfigError: there is nothing at the path.
        SandboxUnavailable: our own file system failed.
    """
    folder = await asyncio.to_thread(WorkFolder, "artifact")
    try:
        yield await asyncio.to_thread(_unpack, app, folder.path / "app", budget)
    finally:
        await close_shielded(asyncio.to_thread(folder.remove))


def _unpack(app: Path, destination: Path, budget: ArchiveBudget) -> Unpacked:
    try:
        report = unpack(app, destination, budget)
        try:
            digest = tree_sha256(destination)
        except OSError as error:
            raise SandboxUnavailable(f"the unpacked app cannot be read: {error}") from error
    except ArtifactRejected as rejected:
        if rejected.status is ArtifactStatus.MISSING:
            # A builder that left nothing has no path: this one was mistyped, or is gone.
            where = str(app)
            raise ConfigError(f"there is no app at {where!r}; name a folder or archive") from None
        return Unpacked(destination, None, rejected=rejected)
    hint = _hint(report.dropped_links)
    try:
        check_buildable(destination)
    except ArtifactRejected as fault:
        hinted = ArtifactRejected(fault.status, f"{fault}{hint}")
        return Unpacked(destination, digest, report.dropped_names, hinted, hint)
    return Unpacked(destination, digest, report.dropped_names, hint=hint)


def _hint(links: Sequence[DroppedMember]) -> str:
    if not links:
        return ""
    named = [clip(str(link), _HINT_CHARS) for link in links[:_HINTED]]
    more = f" and {len(links) - _HINTED} more" if len(links) > _HINTED else ""
    return f". Links left out at unpacking: {', '.join(named)}{more}"
