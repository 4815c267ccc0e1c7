# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a command in a box came to, in the shape of NeMo Gym's sandbox provider API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ExecError = Literal["timeout", "killed", "output_limit"]


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command came to. A non-zero `return_code` is a result, not an exception.

    After a time-out `return_code` is 125 and `error_type` is "timeout" (NeMo Gym's convention).
    """

    stdout: str
    stderr: str
    return_code: int
    error_type: ExecError | None = None
    duration_s: float = 0.0
