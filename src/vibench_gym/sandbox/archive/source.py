# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Opens what is to be packed or unpacked, and says whose fault a failure is.

A missing or unusable artifact is the builder's fault; a file system of ours that fails is not.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from vibench_gym.core.errors import ArtifactRejected, SandboxUnavailable
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.sandbox.archive.folders import FOLDER_FLAGS
from vibench_gym.sandbox.archive.members import rejected, too_large

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vibench_gym.core.config import ArchiveBudget


def open_folder(source: Path) -> int:
    """A descriptor of the folder; a link to a folder is followed, for the path is our own.

    Raises:
        ArtifactRejected: `missing`, or `rejected` (no folder).
    """
    try:
        return os.open(source, FOLDER_FLAGS & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        raise ArtifactRejected(ArtifactStatus.MISSING, "there is no artifact") from None
    except NotADirectoryError:
        return rejected("the artifact is not a folder")


def open_archive(source: Path, budget: ArchiveBudget) -> BinaryIO:
    """The archive, if it is a regular file and not too large.

    Raises:
        ArtifactRejected: `missing`, `rejected` or `too_large`.
    """
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise ArtifactRejected(ArtifactStatus.MISSING, "there is no artifact") from None
    info = os.fstat(descriptor)
    file = os.fdopen(descriptor, "rb")
    limit = max(budget.compressed_bytes, budget.logical_bytes)
    if not stat.S_ISREG(info.st_mode) or info.st_size > limit:
        file.close()
        if info.st_size > limit:
            too_large(f"an archive of {info.st_size} bytes")
        rejected("the artifact is neither a folder nor a file")
    return file


@contextmanager
def storage_failures() -> Iterator[None]:
    """Turn a failure of our own file system into SandboxUnavailable."""
    try:
        yield
    except OSError as error:
        raise SandboxUnavailable(f"the app's files cannot be stored: {error}") from error
