# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Packs and unpacks apps that nobody trusts: never outside the destination, always bounded.

A hostile member is dropped and named and the app kept; only what is beyond its budget
(`too_large`) or unreadable (`rejected`) costs the artifact. These functions block: call them
through `asyncio.to_thread`. They use no privilege, and give the same result as root or not.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from vibench_gym.core.artifact import Artifact
from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.errors import ArtifactRejected, SandboxUnavailable
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.sandbox.archive.decompress import open_stream
from vibench_gym.sandbox.archive.members import (
    Dropped,
    Member,
    Meter,
    printable,
    rejected,
    too_large,
)
from vibench_gym.sandbox.archive.tar import BLOCK, is_tar_header, read_tar
from vibench_gym.sandbox.archive.tree import FOLDER_FLAGS, TreeReader
from vibench_gym.sandbox.archive.write import TreeWriter, clear_folder
from vibench_gym.sandbox.archive.zip import read_zip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRIPTS = ("setup-environment.sh", "start-server.sh")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, slots=True)
class UnpackReport:
    """What unpacking came to."""

    format: str
    members: int
    bytes: int
    dropped: tuple[Dropped, ...]
    """Hostile or unusable members by name, the first thousand of them."""
    dropped_count: int
    left_out: tuple[str, ...]
    """Dependency trees and caches, which set-up makes again."""

    @property
    def dropped_names(self) -> tuple[str, ...]:
        """Each dropped member with its reason, for the run's record."""
        return tuple(str(item) for item in self.dropped)


@dataclass(frozen=True, slots=True)
class PackReport:
    """What packing came to."""

    members: int
    bytes: int
    dropped: tuple[Dropped, ...]
    left_out: tuple[str, ...]


def unpack(source: Path, destination: Path, budget: ArchiveBudget | None = None) -> UnpackReport:
    """Unpack an archive (tar, plain or compressed, or zip), or copy a folder, into `destination`.

    The destination must be missing or empty; after an error it is empty. An archive whose only
    top entry is a folder that holds both scripts is unpacked without that folder. Mode bits are
    kept but for setuid, setgid and sticky; the owner can always read. Ownership is not kept.

    Raises:
        ArtifactRejected: `missing`, `rejected` or `too_large`.
        SandboxUnavailable: our own file system failed.
    """
    meter = Meter(budget or ArchiveBudget())
    with _own_failures(), _empty_folder(destination) as root:
        writer = TreeWriter(root, meter)
        kind, dropped, left_out = _read_into(source, writer, meter)
        named = (*dropped, *writer.finish())
        return UnpackReport(
            format=kind,
            members=meter.members,
            bytes=meter.logical_bytes,
            dropped=named,
            dropped_count=writer.dropped_count + len(dropped),
            left_out=(*left_out, *writer.left_out),
        )


def pack_tree(
    source: Path, destination: Path, budget: ArchiveBudget | None = None
) -> tuple[Artifact, PackReport]:
    """Pack a folder into a plain tar at `destination`; the same content gives the same bytes.

    Raises:
        ArtifactRejected: `missing`, `rejected` (no folder) or `too_large`.
        SandboxUnavailable: our own file system failed.
    """
    meter = Meter(budget or ArchiveBudget())
    beside = destination.with_name(f".{destination.name}.{os.getpid()}.tmp")
    with _own_failures():
        folder = _open_source(source)
        try:
            reader = TreeReader(folder, meter)
            dropped: list[Dropped] = []
            with beside.open("xb") as file:
                digest = _write_tar(file, reader.members(), meter, dropped)
                size = file.tell()
            beside.replace(destination)
        finally:
            os.close(folder)
            beside.unlink(missing_ok=True)
    report = PackReport(
        members=meter.members,
        bytes=meter.logical_bytes,
        dropped=(*reader.dropped, *dropped),
        left_out=tuple(reader.left_out),
    )
    return Artifact(sha256=digest, size=size, members=meter.members), report


def check_buildable(app_dir: Path) -> None:
    """Refuse an app without its two scripts (scoring.md, rule 10).

    Raises:
        ArtifactRejected: `not_buildable`, naming what is missing.
    """
    missing = []
    for name in SCRIPTS:
        try:
            mode = os.lstat(app_dir / name).st_mode
        except OSError:
            mode = 0
        if not stat.S_ISREG(mode):
            missing.append(name)
    if missing:
        message = f"the app has no {' and no '.join(missing)}"
        raise ArtifactRejected(ArtifactStatus.NOT_BUILDABLE, message)


def _read_into(
    source: Path, writer: TreeWriter, meter: Meter
) -> tuple[str, list[Dropped], list[str]]:
    if source.is_dir():
        folder = _open_source(source)
        try:
            reader = TreeReader(folder, meter)
            writer.write(reader.members())
        finally:
            os.close(folder)
        return "folder", reader.dropped, reader.left_out
    with _open_archive(source, meter) as file:
        magic = file.read(BLOCK)
        file.seek(0)
        if not magic:
            rejected("the archive is empty")
        plain = is_tar_header(magic)  # first: a member may be named like another format's magic
        if not plain and magic.startswith(_ZIP):
            writer.write(read_zip(file, meter))
            return "zip", [], []
        kind, stream = open_stream(file, b"" if plain else magic, meter)
        writer.write(read_tar(stream, meter))
        return kind, [], []


def _open_source(source: Path) -> int:
    try:
        return os.open(source, FOLDER_FLAGS & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        raise ArtifactRejected(ArtifactStatus.MISSING, "there is no artifact") from None
    except NotADirectoryError:
        return rejected("the artifact is not a folder")


def _open_archive(source: Path, meter: Meter) -> BinaryIO:
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise ArtifactRejected(ArtifactStatus.MISSING, "there is no artifact") from None
    info = os.fstat(descriptor)
    file = os.fdopen(descriptor, "rb")
    limit = max(meter.budget.compressed_bytes, meter.budget.logical_bytes)
    if not stat.S_ISREG(info.st_mode) or info.st_size > limit:
        file.close()
        if info.st_size > limit:
            too_large(f"an archive of {info.st_size} bytes")
        rejected("the artifact is neither a folder nor a file")
    return file


@contextmanager
def _empty_folder(path: Path) -> Iterator[int]:
    """An empty folder to write into, emptied again when that fails."""
    path.mkdir(parents=True, exist_ok=True)
    root = os.open(path, FOLDER_FLAGS)
    try:
        with os.scandir(root) as entries:
            taken = next(entries, None) is not None
        if taken:
            raise FileExistsError(f"{str(path)!r} is not empty")
        try:
            yield root
        except BaseException:
            clear_folder(root)
            raise
    finally:
        os.close(root)


@contextmanager
def _own_failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxUnavailable(f"the app's files cannot be stored: {error}") from error


def _write_tar(
    file: BinaryIO, members: Iterator[Member], meter: Meter, dropped: list[Dropped]
) -> str:
    digest = hashlib.sha256()

    def put(data: bytes) -> None:
        digest.update(data)
        file.write(data)

    for member in members:
        if member.kind == "special":
            dropped.append(Dropped(printable(member.name), member.note))
            continue
        meter.path_of(member.name)
        meter.expect_bytes(member.size)
        put(_header(member))
        written = 0
        for chunk in member.chunks:
            data = b"\0" * chunk if isinstance(chunk, int) else chunk
            meter.add_bytes(len(data))
            put(data)
            written += len(data)
        put(b"\0" * (-written % BLOCK))
    put(b"\0" * (2 * BLOCK))
    return digest.hexdigest()


def _header(member: Member) -> bytes:
    info = tarfile.TarInfo(member.name.decode("utf-8", "surrogateescape"))
    info.size = member.size
    info.mode = member.mode & 0o777
    info.type = {"directory": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE}.get(
        member.kind, tarfile.REGTYPE
    )
    info.linkname = member.link.decode("utf-8", "surrogateescape")
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
