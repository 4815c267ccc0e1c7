# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Artifacts by content: a key in a store, never a host path that an agent may choose.

An artifact has two digests. The archive digest (`file_sha256`) names the bytes that were handed
over: it is the store's key and what `/verify` is called with. The tree digest (`tree_sha256`) names
the files that came out of it: it is in `rollout.json` and `artifact.sha256`, where it says whether
measured plans may be kept. Two archives of the same files share the tree digest only.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.core.durable import make_folder, move_into_place
from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.status import ArtifactStatus

if TYPE_CHECKING:
    from pathlib import Path

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Artifact:
    """An archived app: digest and size of the archive, number of its members."""

    sha256: str
    """The archive digest."""
    size: int
    members: int


@dataclass(frozen=True, slots=True)
class ArtifactStore:
    """Archives by sha256 below one folder; a stored archive never changes."""

    root: Path

    def put(self, archive: Path) -> str:
        """Copy an archive into the store and return its key, the archive digest.

        Raises:
            OSError: it cannot be read or stored.
        """
        make_folder(self.root)
        beside = self.root / f".{os.getpid()}.{os.urandom(8).hex()}.tmp"
        try:
            with archive.open("rb") as source, beside.open("xb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
            key = file_sha256(beside)
            target = self._place(key)
            make_folder(target.parent)
            move_into_place(beside, target)
        finally:
            beside.unlink(missing_ok=True)
        return key

    def path(self, key: str) -> Path:
        """Where the archive of that key is.

        Raises:
            ArtifactRejected: `missing`: no such key, or no key at all.
        """
        if _SHA256.fullmatch(key) and (place := self._place(key)).is_file():
            return place
        raise ArtifactRejected(ArtifactStatus.MISSING, f"no artifact {key[:80]!r} in the store")

    def _place(self, key: str) -> Path:
        return self.root / key[:2] / key


def file_sha256(path: Path) -> str:
    """Digest of a file's bytes; of an archive, the archive digest.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_sha256(root: Path) -> str:
    """The tree digest: a folder's names, kinds, executable bits, link texts and contents.

    Links are not followed; what is neither file, folder nor link does not count.

    Raises:
        OSError: something cannot be read.
    """
    digest = hashlib.sha256()
    for parent, folders, files in os.walk(os.fsencode(root), onerror=_raise):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = os.path.join(parent, name)  # noqa: PTH118 - names are bytes, not text
            _add(digest, os.path.relpath(path, os.fsencode(root)), path)
    return digest.hexdigest()


def _raise(error: OSError) -> None:
    raise error


def _add(digest: hashlib._Hash, name: bytes, path: bytes) -> None:
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        kind, content = b"l", hashlib.sha256(os.readlink(path)).digest()  # noqa: PTH115 - names are bytes, not text
    elif stat.S_ISDIR(info.st_mode):
        kind, content = b"d", b""
    elif stat.S_ISREG(info.st_mode):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
        kind = b"x" if info.st_mode & stat.S_IXUSR else b"f"
    else:
        return
    digest.update(b"%d:%b%b%b" % (len(name), name, kind, content))
