# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The two scripts that every app has to have: without them it cannot be built."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.status import ArtifactStatus

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS: Final = ("setup-environment.sh", "start-server.sh")


def check_buildable(app_dir: Path) -> None:
    """Refuse an app without its two scripts (scoring.md, rule 10).

    Raises:
        ArtifactRejected: `not_buildable`, naming what is missing.
    """
    missing = []
    for name in SCRIPTS:
        try:
            mode = os.lstat(app_dir / name).st_mode
        except OSError:
            mode = 0
        if not stat.S_ISREG(mode):
            missing.append(name)
    if missing:
        message = f"the app has no {' and no '.join(missing)}"
        raise ArtifactRejected(ArtifactStatus.NOT_BUILDABLE, message)
