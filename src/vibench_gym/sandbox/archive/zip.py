# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads zip archives: the directory's size is checked before `zipfile` takes it into memory."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from vibench_gym.sandbox.archive.members import (
    CHUNK,
    BudgetMeter,
    Kind,
    Member,
    rejected,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DIRECTORY = 64 * 1024 * 1024
_END = b"PK\x05\x06"
_END_BYTES = 22
_MAX_COMMENT = 65535
_IN_ZIP64 = 0xFFFF_FFFF
_LOCATOR_BYTES = 20
_RECORD_BYTES = 56
_ENTRY = b"PK\x01\x02"
_UTF8 = 0x800
_ENCRYPTED = 0x1
_WINDOWS, _UNIX = 0, 3
_MAX_LINK = 4096


def read_zip(file: BinaryIO, meter: BudgetMeter) -> Iterator[Member]:
    """The members of a zip archive, in the order of its directory.

    Raises:
        ArtifactRejected: it is damaged, uses what we do not read, or is beyond its budget.
    """
    _check_directory(file, meter)
    with _damage_is_refused(), zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            meter.add_member()
            yield _member(archive, info)


@contextmanager
def _damage_is_refused() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        rejected(f"a damaged zip archive: {error}")
    except (NotImplementedError, RuntimeError, struct.error) as error:
        rejected(f"a zip archive of an unsupported kind: {error}")


def _check_directory(file: BinaryIO, meter: BudgetMeter) -> None:
    """Refuse a directory that would fill memory, by what really stands at the end of the file."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _MAX_COMMENT - _END_BYTES))
    tail = file.read(_MAX_COMMENT + _END_BYTES)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        rejected("a zip archive without its directory")
    directory = struct.unpack_from("<L", tail, at + 12)[0]
    # A zip64 record counts wherever there is one, whatever the plain record says.
    larger = _zip64_directory(file, size - len(tail) + at)
    if larger is None and directory == _IN_ZIP64:
        rejected("a zip archive with a damaged end")
    directory = max(directory if directory != _IN_ZIP64 else 0, larger or 0)
    if directory > MAX_DIRECTORY:
        too_large(f"a zip directory of {directory} bytes")
    # The directory ends where the end record starts; zip64 records in between only add to it.
    start = max(0, size - len(tail) + at - directory - 1024)
    file.seek(start)
    if file.read(directory + 1024).count(_ENTRY) > meter.budget.members:
        too_large(f"more than {meter.budget.members} members")
    file.seek(0)


def _zip64_directory(file: BinaryIO, end: int) -> int | None:
    """The directory's size by the zip64 record; None where there is none.

    The record is looked for where its locator says and right before the locator: readers differ.
    """
    file.seek(max(0, end - _LOCATOR_BYTES))
    locator = file.read(_LOCATOR_BYTES)
    if len(locator) < _LOCATOR_BYTES or not locator.startswith(b"PK\x06\x07"):
        return None
    sizes = []
    for place in (struct.unpack_from("<Q", locator, 8)[0], end - _LOCATOR_BYTES - _RECORD_BYTES):
        file.seek(min(max(0, place), end))
        record = file.read(_RECORD_BYTES)
        if len(record) == _RECORD_BYTES and record.startswith(b"PK\x06\x06"):
            sizes.append(int(struct.unpack_from("<Q", record, 40)[0]))
    return max(sizes) if sizes else rejected("a zip archive with a damaged end")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    encoding = "utf-8" if info.flag_bits & _UTF8 else "cp437"
    name = info.orig_filename.encode(encoding, "replace")
    if info.create_system == _WINDOWS and b"/" not in name:
        name = name.replace(b"\\", b"/")
    unix = info.external_attr >> 16 if info.create_system == _UNIX else 0
    kind = _kind(unix, name)
    mode = stat.S_IMODE(unix) or (0o755 if kind == "directory" else 0o644)
    if info.flag_bits & _ENCRYPTED:
        return Member(name, "special", note="encrypted")
    if kind in ("directory", "special"):
        return Member(name, kind, mode, note="special file")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        rejected(f"a zip archive with compression method {info.compress_type}")
    if kind == "symlink":
        return Member(name, kind, mode, link=b"".join(_content(archive, info, _MAX_LINK)))
    return Member(name, kind, mode, info.file_size, chunks=_content(archive, info, None))


def _kind(unix: int, name: bytes) -> Kind:
    if name.endswith(b"/") or stat.S_ISDIR(unix):
        return "directory"
    if stat.S_ISLNK(unix):
        return "symlink"
    return "file" if stat.S_IFMT(unix) in (0, stat.S_IFREG) else "special"


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int | None) -> Iterator[bytes]:
    with _damage_is_refused(), archive.open(info) as content:
        if limit is not None:
            yield content.read(limit)
            return
        while piece := content.read(CHUNK):
            yield piece
