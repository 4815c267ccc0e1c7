# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Which symbolic links of an archive are kept: those that stay inside at every stop.

A link is walked as the kernel walks it (`..` is the parent of where the links before it led), but
by texts alone: nothing on disk is looked at, so nothing can be followed. All links of a chain are
judged together; in which order they came does not matter.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from vibench_gym.sandbox.archive.members import too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from vibench_gym.sandbox.archive.folders import Path
    from vibench_gym.sandbox.archive.members import BudgetMeter

MAX_FOLLOWED: Final = 40
"""Links on one way; Linux follows no more."""
_MAX_TEXT: Final = 4095
_APP: Final = b"/app"
OUTWARD: Final = "link leads out"
CIRCLE: Final = f"link leads in a circle, or through more than {MAX_FOLLOWED} links"
TAKEN: Final = "something else has its name"


def faults(
    links: Mapping[Path, bytes], is_free: Callable[[Path], bool], meter: BudgetMeter
) -> Iterator[tuple[Path, str]]:
    """Every link that cannot be kept, and why; the others can be made in any order.

    `is_free` says whether a path has no file or folder, and no file above it.

    Raises:
        ArtifactRejected: beyond the budget, or it took too long.
    """
    standing: dict[Path, bytes] = {}
    folders: set[Path] = set()
    for path, target in links.items():
        above = {path[:depth] for depth in range(len(path))}
        if path in folders or not above.isdisjoint(standing) or not is_free(path):
            yield path, _text_fault(target) or TAKEN
        else:
            standing[path] = target
            folders |= above
            if len(folders) > meter.budget.members:
                too_large(f"links in more than {meter.budget.members} folders")
    deepest = max(map(len, standing), default=0)
    for path in standing:
        meter.check_time()
        if (fault := _way_fault(path, standing, deepest)) is not None:
            yield path, fault


def text_to_store(path: Path, target: bytes) -> bytes:
    """The text of a kept link: its own; an absolute one (`/app/...`) as relative to its place."""
    if not target.startswith(b"/"):
        return target
    parts = [part for part in target[len(_APP) :].split(b"/") if part not in (b"", b".")]
    turn = parts.index(b"..") if b".." in parts else len(parts)
    down = os.path.relpath(b"/" + b"/".join(parts[:turn]), b"/" + b"/".join(path[:-1]))
    return b"/".join((down, *parts[turn:]))


def _text_fault(target: bytes) -> str | None:
    if b"\0" in target:
        return "link target holds a NUL"
    if not target or len(target) > _MAX_TEXT:
        return f"link target of {len(target)} bytes"
    # The app stands at /app wherever it runs, so a link to there stays inside it.
    if target.startswith(b"/") and target != _APP and not target.startswith(_APP + b"/"):
        return OUTWARD
    return None


def _way_fault(path: Path, links: Mapping[Path, bytes], deepest: int) -> str | None:
    """What is wrong with a link or with one that it passes."""
    place, ahead = list(path[:-1]), [path[-1]]
    followed = 0
    while ahead:
        part = ahead.pop()
        if part in (b"", b"."):
            continue
        if part == b"..":
            if not place:
                return OUTWARD
            place.pop()
            continue
        place.append(part)
        target = links.get(tuple(place)) if len(place) <= deepest else None
        if target is None:
            continue
        followed += 1
        fault = CIRCLE if followed > MAX_FOLLOWED else _text_fault(target)
        if fault is not None:
            return fault
        place.pop()
        if target.startswith(b"/"):
            place, target = [], target[len(_APP) :]
        ahead += reversed(target.split(b"/"))
    return None
