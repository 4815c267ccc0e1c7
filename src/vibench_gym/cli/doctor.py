# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym doctor`: what is missing, and the command that installs it."""

from __future__ import annotations

from vibench_gym.cli.console import OUT, shown
from vibench_gym.cli.stacks import stack_config
from vibench_gym.cli.wire import CheckOut, DoctorOut
from vibench_gym.core.errors import ConfigError
from vibench_gym.stack.kinds import stack_checks


def run_doctor(*, only: str | None = None, stack: str = "local") -> DoctorOut:
    """Check this machine.

    Raises:
        ConfigError: there is no check, or no stack, of that name.
    """
    found = stack_checks(stack_config(stack))
    if only is not None:
        names = ", ".join(check.name for check in found)
        found = [check for check in found if check.name.casefold() == only.casefold()]
        if not found:
            raise ConfigError(f"no check is called {only!r}; there are {names}")
    checks = tuple(
        CheckOut(name=check.name, ok=check.ok, detail=check.detail, fix=check.fix)
        for check in found
    )
    return DoctorOut(ok=all(check.ok for check in checks), checks=checks)


def print_doctor(result: DoctorOut) -> None:
    """One line per check, the fix under what is missing."""
    for check in result.checks:
        mark, style = ("ok", "green") if check.ok else ("missing", "red")
        line = shown(f"{mark:>8}", style=style) + shown(f" {check.name}: {check.detail}")
        OUT.print(line, soft_wrap=True)
        if not check.ok:
            OUT.print(shown(f"         to fix it: {check.fix}"), soft_wrap=True)
    OUT.print("Everything needed is here." if result.ok else "Something is missing.")
