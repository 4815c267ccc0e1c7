# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Records as files: written so that they last, read whole or not at all."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from vibench_gym.core.durable import write_atomic
from vibench_gym.core.errors import RecordUnreadable, ResultsUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_RECORD_BYTES = 64 * 1024 * 1024


def write_result(path: Path, data: str) -> None:
    """`write_atomic` for results.

    Raises:
        ResultsUnwritable: the file cannot be written.
    """
    with writing(path):
        write_atomic(path, data)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns a failed write into the operator's fault: no app can write to a run directory."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ResultsUnwritable(
            f"results cannot be written to {str(path)!r}: {why}; make room or choose another folder"
        ) from error


def read_bytes(path: Path) -> bytes | None:
    """The file's first `MAX_RECORD_BYTES`; None where there is no file.

    Raises:
        RecordUnreadable: the disk, or what is there, does not give it.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_RECORD_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordUnreadable(path, f"cannot be read: {error.strerror}") from error


def read_text(path: Path) -> str | None:
    """The file's text, line ends and all; None where there is no file.

    Raises:
        RecordUnreadable: as `read_bytes`, or it is no UTF-8.
    """
    data = read_bytes(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise RecordUnreadable(path, f"is not UTF-8 from byte {error.start} on") from error


def read_record[R: BaseModel](path: Path, model: type[R]) -> R | None:
    """The record in a file; None where there is no file.

    Raises:
        RecordUnreadable: it is cut, damaged, or not what this version writes.
    """
    data = read_bytes(path)
    if data is None:
        return None
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = f"{where}: {first['msg']}" if where else first["msg"]
        raise RecordUnreadable(path, f"is not a record of this version: {what}") from error


def if_readable[R](read: Callable[[], R | None]) -> R | None:
    """What `read` gives; None where it is not there, or cannot be read."""
    try:
        return read()
    except RecordUnreadable:
        return None
