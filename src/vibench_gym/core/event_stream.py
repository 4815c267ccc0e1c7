# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`events.jsonl`: one line an event, added while the plan runs, read as far as it got."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from pydantic import ValidationError

from vibench_gym.core.record_files import writing
from vibench_gym.core.records import Event
from vibench_gym.core.shown_text import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_EVENT_BYTES = 256 * 1024
MAX_EVENTS = 100_000


def append_event(path: Path, event: Event) -> None:
    """Add a line in one write; data that cannot be kept is named, not lost.

    Raises:
        ResultsUnwritable: the disk takes no more.
    """
    line = _line(event)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    with writing(path):
        descriptor = os.open(path, flags, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def read_events(path: Path) -> Iterator[Event]:
    """The events so far; a line that is cut short or unreadable is left out."""
    try:
        file = path.open("rb")
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


def _line(event: Event) -> bytes:
    try:
        line = json.dumps(event.model_dump(), sort_keys=True, allow_nan=False, default=repr)
    except ValueError:
        line = ""
    if not line or len(line) > MAX_EVENT_BYTES:
        kept = event.model_copy(update={"data": {"cut": repr(event.data)[:1000]}})
        line = json.dumps(kept.model_dump(), sort_keys=True)
    return strict_json(line).encode() + b"\n"
