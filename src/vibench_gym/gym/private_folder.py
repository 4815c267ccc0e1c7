# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Makes folders that belong to this user alone, even where everybody may write (`/tmp`)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from vibench_gym.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def private_folder(folder: Path) -> None:
    """Make a folder, or find one that nobody else could have put there.

    In a place where everybody may write (`/tmp`), it has to be ours and no link.

    Raises:
        ConfigError: it cannot be trusted, made or written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info, shared = folder.lstat(), folder.parent.stat().st_mode & stat.S_IWOTH
        usable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise ConfigError(f"{str(folder)!r} cannot be used: {error.strerror}") from error
    ours = info.st_uid == os.geteuid() and stat.S_ISDIR(info.st_mode)
    if not usable or (shared and not ours):
        raise ConfigError(f"{str(folder)!r} is not a writable folder of this user; name another")
