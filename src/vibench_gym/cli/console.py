# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the command prints: results on stdout, everything else on stderr.

With a terminal, progress is a live line; without one, plain lines that a log keeps. `--json` prints
nothing but JSON on stdout.

Names, titles and errors come from apps and models: `shown` is their way onto the screen, and the
consoles themselves print no control character but their own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from vibench_gym.core.shown_text import visible, visible_json, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from rich.console import ConsoleOptions, RenderableType

    from vibench_gym.cli.wire import CauseOut, GradeOut, RolloutOut, UnreadableOut, Wire

PIPE_COLUMNS = 140
"""Wider than 80 columns, so that tables written to a pipe lose no figure."""


class ShownConsole(Console):
    """A console on which no text, whoever passes it on, is markup or obeyed by the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As `Console`, with every text made visible; what rich itself says stays as it is."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


OUT = ShownConsole(
    highlight=False, markup=False, width=None if sys.stdout.isatty() else PIPE_COLUMNS
)
ERR = ShownConsole(stderr=True, highlight=False, markup=False)


def shown(text: str, style: str = "") -> Text:
    """Any text as it is printed: no markup, and no line of it can pass for one of ours."""
    return Text(visible_lines(text), style=style)


def print_json(value: Wire) -> None:
    """Print one JSON document and nothing else."""
    sys.stdout.write(visible_json(value) + "\n")
    sys.stdout.flush()


def print_grades(value: GradeOut) -> None:
    """A table of rollouts and plans, then the report's path."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("rollout", "plan", "status", "steps", "points"):
        table.add_column(column)
    table.add_column("score", justify="right")
    for rollout in value.rollouts:
        state = "masked" if rollout.mask_sample else "build failed" if rollout.build_failed else ""
        table.add_row(
            shown(rollout.label, style="bold"),
            shown(f"{rollout.task}/{rollout.artifact}"),
            shown(state, style="yellow" if rollout.mask_sample else "red"),
            "",
            "",
            shown(f"{rollout.reward:.3f}", style="bold"),
        )
        for plan in rollout.plans:
            passed = sum(step.outcome == "passed" for step in plan.steps)
            table.add_row(
                "",
                shown(plan.plan),
                shown(plan.status, style="green" if plan.status == "graded" else "red"),
                f"{passed}/{len(plan.steps)}",
                f"{plan.score}/{plan.full_points}",
                f"{plan.normalized:.3f}",
            )
    OUT.print(table)
    for rollout in value.rollouts:
        _print_causes(rollout)
    OUT.print()
    OUT.print("report:", end=" ")
    OUT.print(shown(value.report), soft_wrap=True)


def print_unreadable(files: Sequence[UnreadableOut]) -> None:
    """A line for each file for whose sake something was left out."""
    for one in files:
        OUT.print(shown(f"left out: {one.path} {one.reason}", style="yellow"), soft_wrap=True)


def _print_causes(rollout: RolloutOut) -> None:
    """Why a rollout and its plans were not graded; what several plans share is said once."""
    if rollout.build_failed and rollout.cause is not None:
        _print_cause(f"{rollout.label} build_failed", rollout.cause)
        return  # its plans say the same
    plans: dict[CauseOut, list[str]] = {}
    for plan in rollout.plans:
        if plan.cause is not None:
            plans.setdefault(plan.cause, []).append(plan.plan)
    if rollout.cause is not None and not plans:
        _print_cause(f"{rollout.label} masked", rollout.cause)
    for cause, names in plans.items():
        _print_cause(f"{rollout.label} {', '.join(names)}", cause)


def _print_cause(where: str, cause: CauseOut) -> None:
    OUT.print()
    OUT.print(shown(f"{where}: {cause.kind}: {cause.reason}"), soft_wrap=True)
    if cause.log and cause.log not in cause.reason:
        OUT.print(shown(f"\n{cause.log}", style="dim"), soft_wrap=True)


class Progress:
    """Shows what is being done now, as a context manager; with `quiet` it shows nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if not self._quiet and ERR.is_terminal:
            self._status = Status("", console=ERR)
            self._status.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def now(self, message: str, *, brief: bool = False) -> None:
        """Say what is under way; a plain line where there is no terminal, unless it is `brief`."""
        if self._quiet:
            return
        if self._status is not None:
            self._status.update(shown(message))
        elif not brief:
            ERR.print(shown(message), soft_wrap=True)

    def done(self, message: str) -> None:
        """Say what has been finished; stays on the screen."""
        if not self._quiet:
            ERR.print(shown(message), soft_wrap=True)
