# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the MVPs that features are built on top of: artifacts of earlier rollouts, by digest.

A rollouts file is NeMo Gym's output. A digest in it is only a key for the store, never a path.
Whether the store has the artifact is checked later, when a build needs it. Needs no nemo-gym.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.tasks.task import MVP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_LINE_CHARS = 64 * 1024 * 1024
_DIGEST = re.compile(r"[0-9a-f]{64}")

type Selector = Literal["all", "best", "first"]


@dataclass(frozen=True, slots=True)
class EarlierMvp:
    """The artifact of an earlier rollout."""

    app: str
    sha256: str
    reward: float = 0.0
    rollout: str = ""
    """`<task index>-<rollout index>` where the file has them."""

    def starting_tree(self) -> dict[str, Any]:
        """What a row says of it."""
        named = {"rollout": self.rollout} if self.rollout else {}
        return {"sha256": self.sha256, **named}


def earlier_mvps(
    sources: Sequence[str], apps: Sequence[str], select: Selector = "all"
) -> dict[str, tuple[EarlierMvp, ...]]:
    """The MVPs to build on, by app; each artifact once, in the order of the sources.

    A source is a rollouts file, a digest (where there is one app), or `APP=DIGEST`. From a
    file, only rollouts count that were measured and whose build was graded: no feature is built on
    a failed MVP.

    Raises:
        ConfigError: a source is none of these, or names something that cannot be used.
    """
    found: dict[str, dict[str, EarlierMvp]] = {app: {} for app in apps}
    for source in sources:
        for mvp in _of_source(source, apps):
            if mvp.app in found:
                found[mvp.app].setdefault(mvp.sha256, mvp)
    return {app: _selected(tuple(mvps.values()), select) for app, mvps in found.items()}


def _selected(mvps: tuple[EarlierMvp, ...], select: Selector) -> tuple[EarlierMvp, ...]:
    if select == "best" and mvps:
        return (max(mvps, key=lambda mvp: mvp.reward),)  # the first of equals
    return mvps[:1] if select == "first" else mvps


def _of_source(source: str, apps: Sequence[str]) -> Iterator[EarlierMvp]:
    app, equals, digest = source.rpartition("=")
    if _DIGEST.fullmatch(digest):
        if equals and app not in apps:
            raise ConfigError(f"--mvp-from {source!r} names an app that is not asked for")
        if not equals and len(apps) != 1:
            raise ConfigError(
                "a digest alone says not of which app it is: name one with --apps, or give "
                "--mvp-from APP=DIGEST"
            )
        yield EarlierMvp(app or apps[0], digest)
        return
    yield from _of_file(Path(source).expanduser())


def _of_file(path: Path) -> Iterator[EarlierMvp]:
    count = 0
    try:
        with path.open(encoding="utf-8") as file:
            while line := file.readline(MAX_LINE_CHARS):
                count += 1
                if line.strip():
                    yield from _of_row(json.loads(line))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--mvp-from {str(path)!r} is no digest, and cannot be read as a file: {error}"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{path}:{count}: no rollout: {error}") from error


def _of_row(row: Any) -> Iterator[EarlierMvp]:
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 (as other bad lines)
    digest, app, reward = row.get("artifact_sha256"), row.get("app"), row.get("reward")
    measured = row.get("artifact", MVP) == MVP and not row.get("mask_sample")
    if not measured or row.get("build_failed") or not isinstance(app, str):
        return
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return
    known = isinstance(reward, int | float) and math.isfinite(reward)
    indices = (row.get("_ng_task_index"), row.get("_ng_rollout_index"))
    named = "-".join(str(index) for index in indices) if None not in indices else ""
    yield EarlierMvp(app, digest, float(reward) if known and reward else 0.0, named)
