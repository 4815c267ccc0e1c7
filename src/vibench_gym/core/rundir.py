# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where a run's results stand on disk; written as they come, readable at any moment.

    <run>/index.html
    <run>/<task>/<rollout>/
        rollout.json  artifact.sha256  setup.log
        plans/<plan-id>/
            plan.txt  plan.json  scorecard.json  events.jsonl
            screenshots/  downloads/  trace.zip  app.log

A file is either whole or absent (written beside and renamed); only `events.jsonl` grows in place,
so its last line may be cut short and is then left out. `plan.txt` is the plan byte for byte:
a run can be scored again from disk alone.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from vibench_gym.core.errors import ConfigError, ResultsUnwritable
from vibench_gym.core.records import Event, PlanRecord, RolloutRecord, Scorecard, canonical_json
from vibench_gym.core.shown_text import strict_json
from vibench_gym.core.tasks.files import folder_name, natural_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task

MAX_EVENT_BYTES = 256 * 1024
MAX_RECORD_BYTES = 64 * 1024 * 1024
MAX_EVENTS = 100_000
_counter = itertools.count()


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace a file in one step: a reader sees the old or the new content, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.parent / f".{path.name}.{os.getpid()}.{next(_counter)}.tmp"
    try:
        beside.write_bytes(data.encode() if isinstance(data, str) else data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _write(path: Path, data: str) -> None:
    """`write_atomic` for results.

    Raises:
        ResultsUnwritable: the file cannot be written.
    """
    with _ours(path):
        write_atomic(path, data)


@contextlib.contextmanager
def _ours(path: Path) -> Iterator[None]:
    """Turns a failed write into the operator's fault: no app can write to a run directory."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ResultsUnwritable(
            f"results cannot be written to {str(path)!r}: {why}; make room or choose another folder"
        ) from error


@dataclass(frozen=True, slots=True)
class PlanDir:
    """`plans/<plan-id>/`."""

    path: Path

    @property
    def plan_id(self) -> str:
        """The plan's id: the folder's name."""
        return self.path.name

    @property
    def screenshots(self) -> Path:
        """Folder of the pictures that evidence names."""
        return self.path / "screenshots"

    @property
    def downloads(self) -> Path:
        """Folder of the files that the browser saved."""
        return self.path / "downloads"

    @property
    def trace(self) -> Path:
        """Playwright's trace."""
        return self.path / "trace.zip"

    @property
    def app_log(self) -> Path:
        """What the app printed during this plan."""
        return self.path / "app.log"

    @property
    def events_path(self) -> Path:
        """The event stream."""
        return self.path / "events.jsonl"

    def create(self) -> PlanDir:
        """Make the folders.

        Raises:
            ResultsUnwritable: they cannot be made.
        """
        with _ours(self.path):
            self.screenshots.mkdir(parents=True, exist_ok=True)
            self.downloads.mkdir(exist_ok=True)
        return self

    def write_plan(self, plan: TestPlan) -> None:
        """Store the plan's text byte for byte; raises as all that writes here."""
        _write(self.path / "plan.txt", plan.text)

    def read_plan_text(self) -> str | None:
        """The plan's text as it was graded; None while it is not written."""
        data = _read(self.path / "plan.txt")
        return None if data is None else data.decode()

    def write_record(self, record: PlanRecord) -> None:
        """Write `plan.json`."""
        _write(self.path / "plan.json", canonical_json(record))

    def read_record(self) -> PlanRecord | None:
        """`plan.json`; None while the plan is running.

        Raises:
            ConfigError: it is not what this version writes.
        """
        return _read_record(self.path / "plan.json", PlanRecord)

    def write_scorecard(self, card: Scorecard) -> None:
        """Write `scorecard.json`."""
        _write(self.path / "scorecard.json", canonical_json(card))

    def read_scorecard(self) -> Scorecard | None:
        """`scorecard.json`; None while the plan is running.

        Raises:
            ConfigError: it is not what this version writes.
        """
        return _read_record(self.path / "scorecard.json", Scorecard)

    def scorecard_bytes(self) -> bytes | None:
        """`scorecard.json` as it stands."""
        return _read(self.path / "scorecard.json")

    def append_event(self, event: Event) -> None:
        """Add a line to the stream in one write; data that cannot be kept is named, not lost.

        Raises:
            ResultsUnwritable: the disk takes no more.
        """
        line = _event_line(event)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with _ours(self.events_path):
            descriptor = os.open(self.events_path, flags, 0o644)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def events(self) -> Iterator[Event]:
        """The events so far; a line that is cut short or unreadable is left out."""
        try:
            file = self.events_path.open("rb")
        except FileNotFoundError:
            return
        with file:
            for _ in range(MAX_EVENTS):
                line = file.readline(2 * MAX_EVENT_BYTES)
                if not line:
                    return
                try:
                    yield Event.model_validate_json(line)
                except ValidationError:
                    continue


@dataclass(frozen=True, slots=True)
class RolloutDir:
    """`<run>/<task>/<rollout>/`."""

    path: Path

    @property
    def setup_log(self) -> Path:
        """What the artifact's one set-up printed."""
        return self.path / "setup.log"

    def write_rollout(self, record: RolloutRecord) -> None:
        """Write `rollout.json`; call it at the start too, so that a reader sees what runs."""
        _write(self.path / "rollout.json", canonical_json(record))

    def read_rollout(self) -> RolloutRecord | None:
        """`rollout.json`; None where it is not written yet.

        Raises:
            ConfigError: it is not what this version writes.
        """
        return _read_record(self.path / "rollout.json", RolloutRecord)

    def write_artifact(self, tree_sha256: str) -> None:
        """Write `artifact.sha256`: the tree digest of the unpacked files (`core.artifact`)."""
        _write(self.path / "artifact.sha256", f"{tree_sha256}\n")

    def plan(self, plan_id: str) -> PlanDir:
        """The folder of a plan, whether it exists or not.

        Raises:
            ValueError: the id is no folder name.
        """
        if plan_id in {"", ".", ".."} or "/" in plan_id or "\0" in plan_id:
            raise ValueError(f"not a plan id: {plan_id!r}")
        return PlanDir(self.path / "plans" / plan_id)

    def plans(self) -> Iterator[PlanDir]:
        """The plan folders there are, in the task's order where the record tells it."""
        record = self.read_rollout()
        order = {plan: number for number, plan in enumerate(record.plans if record else ())}
        for path in sorted(
            _folders(self.path / "plans"),
            key=lambda path: (order.get(path.name, len(order)), natural_key(path.name)),
        ):
            yield PlanDir(path)

    def remove_plans(self) -> None:
        """Remove every plan folder.

        Raises:
            ResultsUnwritable: one of them stays.
        """
        with _ours(self.path):
            for folder in _folders(self.path / "plans"):
                shutil.rmtree(folder)


@dataclass(frozen=True, slots=True)
class RunDir:
    """One run: rollouts of one or more tasks."""

    root: Path

    @property
    def report(self) -> Path:
        """The run's report."""
        return self.root / "index.html"

    def rollout(self, task: Task | str, label: str) -> RolloutDir:
        """A new folder for a rollout; a label that is taken gets a number.

        Raises:
            ResultsUnwritable: it cannot be made.
        """
        name = task if isinstance(task, str) else task.name
        parent = self.root / folder_name(name)
        path, number = parent / folder_name(label), 1
        with _ours(path):
            parent.mkdir(parents=True, exist_ok=True)
            while not _make(path):
                number += 1
                path = parent / f"{folder_name(label)}-{number}"
            (path / "plans").mkdir()
        return RolloutDir(path)

    def rollouts(self) -> Iterator[RolloutDir]:
        """Every rollout of the run that has begun, by task and label."""
        for task in sorted(_folders(self.root), key=lambda path: natural_key(path.name)):
            for path in sorted(_folders(task), key=lambda path: natural_key(path.name)):
                if (path / "rollout.json").is_file():
                    yield RolloutDir(path)


def _make(path: Path) -> bool:
    """Make a folder; False where the name is taken."""
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return [child for child in path.iterdir() if child.is_dir() and not child.is_symlink()]


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(MAX_RECORD_BYTES)
    except FileNotFoundError:
        return None


def _read_record[R: BaseModel](path: Path, model: type[R]) -> R | None:
    data = _read(path)
    if data is None:
        return None
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"{str(path)!r} is not a record of this version: {where}: {first['msg']}"
        ) from error


def _event_line(event: Event) -> bytes:
    try:
        line = json.dumps(event.model_dump(), sort_keys=True, allow_nan=False, default=repr)
    except ValueError:
        line = ""
    if not line or len(line) > MAX_EVENT_BYTES:
        kept = event.model_copy(update={"data": {"cut": repr(event.data)[:1000]}})
        line = json.dumps(kept.model_dump(), sort_keys=True)
    return strict_json(line).encode() + b"\n"
