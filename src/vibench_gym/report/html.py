# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a run's report as one HTML file that loads nothing and runs no text of an app as code.

The template engine escapes everything that came from an app or a model, and makes it visible. The
page's content security policy allows only inline styles, embedded pictures and the one script, by
its hash.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from vibench_gym.core.record_files import write_result
from vibench_gym.core.shown_text import visible
from vibench_gym.core.status import ArtifactStatus, CheckOutcome, PlanStatus, StepOutcome
from vibench_gym.report.load import load_run
from vibench_gym.report.pictures import Pictures
from vibench_gym.report.view import rollout_view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vibench_gym.core.errors import RecordUnreadable
    from vibench_gym.report.view import RolloutSource

PICTURE_BUDGET_BYTES = 24 * 1024 * 1024
REPORT_NAME = "index.html"

_GOOD = {StepOutcome.PASSED, CheckOutcome.PASSED, PlanStatus.GRADED, ArtifactStatus.OK}
_OURS = {PlanStatus.GRADER_FAILED, PlanStatus.SEEDING_FAILED}
_IDLE = {StepOutcome.NOT_REACHED}


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written."""

    path: Path
    unreadable: Sequence[RecordUnreadable]
    """What is not in it, for it could not be read."""


def write_report(run: Path) -> Path:
    """`make_report`; the page's path."""
    return make_report(run).path


def make_report(run: Path) -> Report:
    """Write `index.html` into a run directory; works while the run grows.

    Raises:
        ConfigError: the folder holds no rollout.
        ResultsUnwritable: it cannot be written.
    """
    path = run / REPORT_NAME
    found = load_run(run)
    page = render(run.name, found.rollouts, found.unreadable)
    write_result(path, page)
    return Report(path, found.unreadable)


def render(
    title: str, rollouts: Sequence[RolloutSource], unreadable: Sequence[RecordUnreadable] = ()
) -> str:
    """The whole page as text."""
    pictures = Pictures(budget_bytes=PICTURE_BUDGET_BYTES)
    views = [rollout_view(rollout, n, pictures) for n, rollout in enumerate(rollouts, start=1)]
    environment = _environment()
    script = _source(environment, "report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        title=title,
        rollouts=views,
        unreadable=unreadable,
        left_out=pictures.left_out,
        style=_source(environment, "report.css"),
        script=script,
        script_hash=f"sha256-{digest}",
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vibench_gym.report", "templates"),
        autoescape=True,
        finalize=_visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = _seconds
    environment.filters["tone"] = _tone
    environment.filters["words"] = _words
    return environment


def _visible(value: object) -> object:
    """What a template prints: text is made visible, but for what the template itself is made of."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _source(environment: jinja2.Environment, name: str) -> str:
    if environment.loader is None:  # pragma: no cover (it is set just above)
        raise RuntimeError(name)
    return environment.loader.get_source(environment, name)[0]


def _seconds(value: float) -> str:
    minutes, seconds = divmod(value, 60.0)
    if minutes:
        return f"{int(minutes)} min {seconds:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _tone(value: str) -> str:
    """Colour class of a status: good, bad, ours (our fault) or idle."""
    if value in _GOOD:
        return "good"
    if value in _IDLE:
        return "idle"
    return "ours" if value in _OURS else "bad"


def _words(value: str) -> str:
    return value.replace("_", " ")
