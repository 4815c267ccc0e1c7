# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Headers that no archiver writes: each is refused, none is believed."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.sandbox.archive.unpack import unpack

if TYPE_CHECKING:
    from pathlib import Path

END = b"\0" * 1024


def header(name: bytes = b"a", size: bytes = b"0", kind: bytes = b"0", rest: bytes = b"") -> bytes:
    block = bytearray(512)
    block[: len(name)] = name
    block[100:107] = b"0000644"
    block[124 : 124 + len(size)] = size
    block[156:157] = kind
    block[386 : 386 + len(rest)] = rest
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block)


def pax(*records: tuple[bytes, bytes], raw: bytes = b"") -> bytes:
    data = raw
    for key, value in records:
        body = b" %b=%b\n" % (key, value)
        length = len(body) + 1
        while len(b"%d" % length) + len(body) != length:
            length += 1
        data += b"%d%b" % (length, body)
    padding = b"\0" * (-len(data) % 512)
    return header(b"pax", b"%o" % len(data), b"x") + data + padding


def outcome(data: bytes, tmp_path: Path) -> ArtifactStatus:
    (tmp_path / "a").write_bytes(data)
    try:
        unpack(tmp_path / "a", tmp_path / "out", ArchiveBudget(logical_bytes=1_000_000))
    except ArtifactRejected as error:
        return error.status
    return ArtifactStatus.OK


SPARSE = (b"GNU.sparse.realsize", b"100")
ONE_0 = ((b"GNU.sparse.major", b"1"), (b"GNU.sparse.name", b"s"), SPARSE)


@pytest.mark.parametrize(
    "data",
    [
        header(size=b"\xff" * 12),
        header(size=b"-7"),
        header(size=b"9"),
        header(size=b"x"),
        pax(raw=b"x path=a\n") + header(),
        pax(raw=b"0 a\n") + header(),
        pax(raw=b"nospace") + header(),
        pax((b"size", b"-1")) + header(),
        pax((b"size", b"9" * 30)) + header(),
        pax(SPARSE) + header(size=b"1") + b"x" * 512,
        pax(SPARSE, (b"GNU.sparse.map", b"0")) + header(),
        pax(SPARSE, (b"GNU.sparse.map", b"0,101")) + header(),
        pax(SPARSE, (b"GNU.sparse.map", b"50,10,0,10")) + header(size=b"24") + b"x" * 512,
        pax(SPARSE, (b"GNU.sparse.map", b"0,10")) + header(),
        pax(*ONE_0) + header(size=b"1000") + b"x\n" * 256,
        pax(*ONE_0) + header(size=b"10") + b"1\n" * 256,
        header(kind=b"S", rest=b"00000000000\000000000144\0"),
    ],
)
def test_damaged_headers_are_refused(tmp_path: Path, data: bytes) -> None:
    assert outcome(data + END, tmp_path) is ArtifactStatus.REJECTED


@pytest.mark.parametrize(
    "data",
    [
        header(size=b"\x80" + b"\0" * 6 + b"\x7f" * 5),
        header(size=b"77777777777"),
        pax((b"size", b"99999999999")) + header(),
        pax((b"GNU.sparse.realsize", b"99999999"), (b"GNU.sparse.map", b"0,0")) + header(),
        pax(SPARSE, (b"GNU.sparse.map", b"0,0," * 20_001)) + header(),
        pax(*ONE_0) + header(size=b"10000000") + b"9999999\n" * 64,
        pax(*ONE_0) + header(size=b"10000000") + b"20000\n".ljust(2_100_000, b"1"),
        pax((b"a", b"x" * 600_000)) + pax((b"b", b"x" * 600_000)) + header(),
        header(b"g", b"2000000", b"g") + b"x" * 524288 + pax((b"a", b"x" * 600_000)) + header(),
    ],
)
def test_announced_sizes_are_refused_before_they_are_read(tmp_path: Path, data: bytes) -> None:
    assert outcome(data + END, tmp_path) is ArtifactStatus.TOO_LARGE


def test_an_endless_sparse_map_ends(tmp_path: Path) -> None:
    first = bytearray(header(kind=b"S", rest=b"00000000001\0" * 8))
    first[482] = 1
    first[148:156] = b" " * 8
    first[148:155] = b"%06o\0" % sum(first)
    more = b"00000000001\0" * 42 + b"\1" + b"\0" * 7
    assert outcome(bytes(first) + more * 3000, tmp_path) is ArtifactStatus.TOO_LARGE


@pytest.mark.parametrize(
    "data",
    [
        header() + END,
        header() + b"\0" * 512,
        header(),
        header(b"") + END,
        pax((b"path", b"other")) + header() + END,
        header(b"g", b"1000", b"g") + b"x" * 512 + header() + END,
        pax(*ONE_0) + header(size=b"1000") + b"0\n".ljust(512, b"\0") + END,
    ],
)
def test_odd_headers_that_are_fine(tmp_path: Path, data: bytes) -> None:
    assert outcome(data, tmp_path) is ArtifactStatus.OK


def zipped(**fields: object) -> bytearray:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("a")
        for key, value in fields.items():
            setattr(info, key, value)
        archive.writestr(info, "content")
    return bytearray(buffer.getvalue())


def test_zip_methods_that_are_not_read(tmp_path: Path) -> None:
    data = bytes(zipped(compress_type=zipfile.ZIP_LZMA))
    assert outcome(data, tmp_path) is ArtifactStatus.REJECTED


def test_an_encrypted_member_is_dropped(tmp_path: Path) -> None:
    data = zipped()
    at = data.index(b"PK\x01\x02") + 8
    data[at] |= 1
    (tmp_path / "a").write_bytes(data)
    assert unpack(tmp_path / "a", tmp_path / "out").dropped_names == ("a (encrypted)",)


def test_a_zip_with_a_wrong_checksum(tmp_path: Path) -> None:
    data = zipped()
    data[data.index(b"content")] ^= 1
    assert outcome(bytes(data), tmp_path) is ArtifactStatus.REJECTED


def test_a_zip_of_a_later_version(tmp_path: Path) -> None:
    data = zipped()
    data[data.index(b"PK\x01\x02") + 6] = 99
    assert outcome(bytes(data), tmp_path) is ArtifactStatus.REJECTED


@pytest.mark.parametrize(
    ("directory", "locator", "record", "status"),
    [
        (1 << 30, b"", b"", ArtifactStatus.TOO_LARGE),
        (0xFFFFFFFF, b"", b"", ArtifactStatus.REJECTED),
        (0xFFFFFFFF, b"PK\x06\x07", b"", ArtifactStatus.REJECTED),
        (0xFFFFFFFF, b"PK\x06\x07", b"PK\x06\x06", ArtifactStatus.TOO_LARGE),
    ],
)
def test_a_zip_directory_that_would_fill_memory(
    tmp_path: Path, directory: int, locator: bytes, record: bytes, status: ArtifactStatus
) -> None:
    data = b"PK\x03\x04".ljust(64, b"\0")
    if record:
        data += (record.ljust(40, b"\0") + struct.pack("<Q", 1 << 40)).ljust(56, b"\0")
    if locator:
        data += (locator + b"\0" * 4 + struct.pack("<Q", 64)).ljust(20, b"\0")
    data += b"PK\x05\x06".ljust(12, b"\0") + struct.pack("<LLH", directory, 0, 0)
    assert outcome(data, tmp_path) is status


def with_zip64(data: bytes, *sizes: int) -> bytes:
    """A zip with zip64 records of its directory's size, that the plain record does not name.

    The locator leads to the first of them; some readers take the one right before the locator.
    """
    at = data.rindex(b"PK\x05\x06")
    count, _, offset = struct.unpack_from("<HLL", data, at + 10)
    records = b"".join(
        struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset)
        for size in sizes
    )
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    return data[:at] + records + locator + data[at:]


def directory_size(data: bytes) -> int:
    return int(struct.unpack_from("<L", data, data.rindex(b"PK\x05\x06") + 12)[0])


@pytest.mark.parametrize("honest_first", [False, True])
def test_a_zip64_record_counts_though_nothing_names_it(
    tmp_path: Path, *, honest_first: bool
) -> None:
    data = bytes(zipped())
    sizes = [directory_size(data)] * honest_first + [1 << 40]
    assert outcome(with_zip64(data, *sizes), tmp_path) is ArtifactStatus.TOO_LARGE


def test_members_that_only_a_zip64_record_counts(tmp_path: Path) -> None:
    data = bytes(zipped())
    at, start = data.rindex(b"PK\x05\x06"), data.index(b"PK\x01\x02")
    entries = data[start:at] * 300
    whole = with_zip64(data[:start] + entries + data[at:], len(entries))
    (tmp_path / "a").write_bytes(whole)
    with pytest.raises(ArtifactRejected, match="more than 200 members"):
        unpack(tmp_path / "a", tmp_path / "out", ArchiveBudget(members=200))


def test_an_honest_zip64_record_is_read(tmp_path: Path) -> None:
    data = bytes(zipped())
    assert outcome(with_zip64(data, directory_size(data)), tmp_path) is ArtifactStatus.OK
