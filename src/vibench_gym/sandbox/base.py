# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a box can do, in the shapes of NeMo Gym's sandbox provider API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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


class Sandbox(Protocol):
    """A box that runs commands which nobody trusts.

    Raises:
        SandboxUnavailable: the box itself broke; never for a command that failed.
    """

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout_s: float = 180.0,
    ) -> ExecResult:
        """Run a command (a string goes through `bash -c`); all it started is dead afterwards."""
        ...

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy one regular file of the host into the box."""
        ...

    async def download_file(self, source: str, target: Path) -> None:
        """Copy one regular file out of the box; links are not followed out of it."""
        ...

    async def close(self) -> None:
        """End everything in the box and remove it; safe to call twice."""
        ...
