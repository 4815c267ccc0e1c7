# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Unpacks apps that nobody trusts: never outside the destination, always bounded.

A hostile member is dropped and named and the app kept; only what is beyond its budget
(`too_large`) or unreadable (`rejected`) costs the artifact. These functions block: call them
through `asyncio.to_thread`. They use no privilege, and give the same result as root or not.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.core.config import ArchiveBudget
from vibench_gym.sandbox.archive.decompress import open_stream
from vibench_gym.sandbox.archive.folders import FOLDER_FLAGS, clear_folder
from vibench_gym.sandbox.archive.members import BudgetMeter, DroppedMember, rejected
from vibench_gym.sandbox.archive.source import open_archive, open_folder, storage_failures
from vibench_gym.sandbox.archive.tar import BLOCK, is_tar_header, read_tar
from vibench_gym.sandbox.archive.tree_reader import TreeReader
from vibench_gym.sandbox.archive.tree_writer import TreeWriter
from vibench_gym.sandbox.archive.zip import read_zip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, slots=True)
class UnpackReport:
    """What unpacking came to."""

    format: str
    members: int
    bytes: int
    dropped: tuple[DroppedMember, ...]
    """Hostile or unusable members by name, the first thousand of them."""
    dropped_count: int
    left_out: tuple[str, ...]
    """Dependency trees and caches, which set-up makes again."""

    @property
    def dropped_names(self) -> tuple[str, ...]:
        """Each dropped member with its reason, for the run's record."""
        return tuple(str(item) for item in self.dropped)

    @property
    def dropped_links(self) -> tuple[DroppedMember, ...]:
        """The symbolic links among them."""
        return tuple(item for item in self.dropped if item.is_link)


def unpack(source: Path, destination: Path, budget: ArchiveBudget | None = None) -> UnpackReport:
    """Unpack an archive (tar, plain or compressed, or zip), or copy a folder, into `destination`.

    The destination must be missing or empty; after an error it is empty. An archive whose only
    top entry is a folder that holds both scripts is unpacked without that folder. Mode bits are
    kept but for setuid, setgid and sticky; the owner can always read. Ownership is not kept.

    Raises:
        ArtifactRejected: `missing`, `rejected` or `too_large`.
        SandboxUnavailable: our own file system failed.
    """
    meter = BudgetMeter(budget or ArchiveBudget())
    with storage_failures(), _empty_folder(destination) as root:
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


def _read_into(
    source: Path, writer: TreeWriter, meter: BudgetMeter
) -> tuple[str, list[DroppedMember], list[str]]:
    if source.is_dir():
        folder = open_folder(source)
        try:
            reader = TreeReader(folder, meter)
            writer.write(reader.members())
        finally:
            os.close(folder)
        return "folder", reader.dropped, reader.left_out
    with open_archive(source, meter.budget) as file:
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
