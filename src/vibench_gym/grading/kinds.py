# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The registry of graders: a new kind is one entry here, and its name in `core.config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vibench_gym.grading.queued_grader import BUILTIN
from vibench_gym.grading.vibench.kind import VIBENCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vibench_gym.core.config import GraderName
    from vibench_gym.grading.base import GraderKind

GRADERS: Final[Mapping[GraderName, GraderKind]] = {kind.name: kind for kind in (BUILTIN, VIBENCH)}
