# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym doctor`: what is missing, and the command that installs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vibench_gym.cli.console import OUT
from vibench_gym.cli.wire import CheckOut, DoctorOut
from vibench_gym.core.errors import ConfigError
from vibench_gym.sandbox import prerequisites

if TYPE_CHECKING:
    from collections.abc import Iterable


def run_doctor(*, only: str | None = None) -> DoctorOut:
    """Check this machine.

    Raises:
        ConfigError: there is no check of that name.
    """
    checks = [
        CheckOut(
            name=check.name,
            ok=check.ok,
            required=check.required,
            detail=check.detail,
            fix=check.fix,
        )
        for check in _checks(only)
    ]
    return DoctorOut(
        ok=all(check.ok or not check.required for check in checks), checks=tuple(checks)
    )


def _checks(only: str | None) -> Iterable[prerequisites.Check]:
    available = prerequisites.CHECKS
    if only is None:
        return [check() for check in available.values()]
    if only not in available:
        raise ConfigError(f"no check is called {only!r}; there are {', '.join(available)}")
    return [available[only]()]


def print_doctor(result: DoctorOut) -> None:
    """One line per check, the fix under what is missing."""
    for check in result.checks:
        mark, style = ("ok", "green") if check.ok else ("missing", "red")
        if not check.ok and not check.required:
            mark, style = "note", "yellow"
        OUT.print(Text(f"{mark:>8}", style=style), Text(f"{check.name}: {check.detail}"))
        if not check.ok:
            OUT.print(Text(f"          to fix it: {check.fix}"), soft_wrap=True)
    OUT.print()
    OUT.print("Everything needed is here." if result.ok else "Something is missing.")
