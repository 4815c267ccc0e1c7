# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A record that is cut is named, with its path; nothing is made of a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ConfigError, RecordUnreadable
from vibench_gym.core.record_files import if_readable, read_bytes, read_record, read_text
from vibench_gym.core.records import Event, canonical_json

if TYPE_CHECKING:
    from pathlib import Path

EVENT = Event(t=1.0, kind="phase", step="é")


def test_a_whole_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    assert read_record(path, Event) is None
    assert read_text(path) is None
    path.write_text(canonical_json(EVENT))
    assert read_record(path, Event) == EVENT
    assert if_readable(lambda: read_record(path, Event)) == EVENT


@pytest.mark.parametrize("kept", [0, 1, 20, -3])
def test_one_that_is_cut_anywhere_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "event.json"
    path.write_text(canonical_json(EVENT)[:kept])
    with pytest.raises(RecordUnreadable) as caught:
        read_record(path, Event)
    assert str(caught.value).startswith(
        f"{str(path)!r} is not a record of this version: Invalid JSON: "
    )
    assert str(caught.value).endswith("; `vibench-gym grade --resume` measures it again")
    assert (caught.value.path, isinstance(caught.value, ConfigError)) == (path, True)
    assert if_readable(lambda: read_record(path, Event)) is None


def test_another_shape_is_named_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_text('{"t": 1, "kind": "odd"}')
    with pytest.raises(RecordUnreadable, match=r"of this version: kind: Input should be"):
        read_record(path, Event)


def test_a_text_that_ends_within_a_character_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    path.write_bytes("aé\r\nb".encode())
    assert read_text(path) == "aé\r\nb"
    path.write_bytes("aé".encode()[:2])
    with pytest.raises(RecordUnreadable, match=r"is not UTF-8 from byte 1 on"):
        read_text(path)


def test_what_the_disk_does_not_give_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(RecordUnreadable, match="cannot be read: Is a directory"):
        read_bytes(tmp_path)
