# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym gc`: removes what a crash left on this host, and nothing that is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.cli.console import OUT, shown
from vibench_gym.cli.wire import GcOut, LeftoverOut
from vibench_gym.sandbox.leftovers import LeftoverPaths, find_leftovers
from vibench_gym.stack.cache import cache_root

if TYPE_CHECKING:
    from pathlib import Path


def run_gc(*, dry_run: bool = False, cache: Path | None = None) -> GcOut:
    """Find leftovers and, without `dry_run`, remove them; `cache` is the user's unless given."""
    places = LeftoverPaths.of_host(cache or cache_root())
    return GcOut(
        dry_run=dry_run,
        leftovers=tuple(
            LeftoverOut(
                kind=found.kind, path=str(found.path), removed=not dry_run and found.remove()
            )
            for found in find_leftovers(places)
        ),
    )


def print_gc(result: GcOut) -> None:
    """One line per leftover, then the count."""
    for one in result.leftovers:
        state = "removed" if one.removed else "left" if result.dry_run else "NOT REMOVED"
        OUT.print(shown(f"{state:>11}  {one.kind}: {one.path}"), soft_wrap=True)
    count = len(result.leftovers)
    if not count:
        OUT.print("Nothing was left behind.")
    elif result.dry_run:
        OUT.print(f"{count} left behind; without --dry-run they are removed")
    else:
        OUT.print(f"{sum(one.removed for one in result.leftovers)} of {count} removed")
