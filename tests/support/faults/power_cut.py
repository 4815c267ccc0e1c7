# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A disk that keeps what was synced, and of the rest what it likes: all that a power cut may leave.

While `recording`, every change of names below a folder and every fsync is a moment at which the
power may fail. What was on the disk when it began, or was synced since, is there afterwards: a
file's content by an fsync of the file, a name by an fsync of the folder that lists it. Everything
else may have got there or not, name by name and file by file; a file's content also in part. Each
`Left` is one folder that a host could find when it is started again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pytest

type Choose = Callable[[Any, Any], Any]
"""Of what is on the disk and what was to be there (None: nothing), what a power cut leaves."""
CHANGES = ("mkdir", "rename", "replace", "rmdir", "unlink", "remove")
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of the folder, by path below it: a file's bytes, None for a folder."""

    how: str
    tree: Mapping[str, bytes | None]
    told: Any
    """What the recording's `tell` said at that moment."""

    def put(self, folder: Path) -> Path:
        """Make it anew; returns the folder."""
        folder.mkdir(parents=True)
        for name, data in self.tree.items():
            if data is None:
                (folder / name).mkdir()
            else:
                (folder / name).write_bytes(data)
        return folder


@dataclass(eq=False)
class Disk:
    """One folder's disk. `tell` is asked at each moment for what the test will want to know."""

    root: Path
    tell: Callable[[], Any] = lambda: None
    left: list[Left] = field(default_factory=list)
    _synced: dict[int, Any] = field(default_factory=dict)
    """By inode: a file's synced bytes, a folder's synced names with their inodes."""
    _open: dict[int, int] = field(default_factory=dict)
    """Descriptors by inode, held so that no inode is used a second time."""
    _seen: set[str] = field(default_factory=set)
    _turn: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextlib.contextmanager
    def recording(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        """Record all that this process does below the folder."""
        self._take_as_synced(self._inode(self.root))
        with patch.context() as patched:
            for name in CHANGES:
                patched.setattr(os, name, self._watched(getattr(os, name)))
            patched.setattr(os, "fsync", self._fsync)
            yield
        self._moment()
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def change(path: Any, *args: Any, **more: Any) -> Any:
            with self._lock:
                inside = more.get("dir_fd") is not None or str(path).startswith(str(self.root))
                if inside:
                    self._moment()
                return real(path, *args, **more)

        return change

    def _fsync(self, descriptor: int) -> None:
        with self._lock:
            if Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(self.root):
                self._moment()
                self._synced[self._pin(descriptor)] = self._now(descriptor)

    def _take_as_synced(self, inode: int) -> None:
        content = self._synced[inode] = self._now(self._open[inode])
        if isinstance(content, dict):
            for child in content.values():
                self._take_as_synced(child)

    def _inode(self, path: str | Path, folder: int | None = None) -> int:
        mode = os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), f"{path} is neither file nor folder"
        flags = FOLDER if stat.S_ISDIR(mode) else os.O_RDONLY | os.O_CLOEXEC
        descriptor = os.open(path, flags, dir_fd=folder)
        try:
            return self._pin(descriptor)
        finally:
            os.close(descriptor)

    def _pin(self, descriptor: int) -> int:
        """Hold what a descriptor is of; its inode."""
        inode = os.fstat(descriptor).st_ino
        if inode not in self._open:
            folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            flags = FOLDER if folder else os.O_RDONLY | os.O_CLOEXEC
            self._open[inode] = os.open(f"/proc/self/fd/{descriptor}", flags)
        return inode

    def _now(self, descriptor: int) -> Any:
        """A file's bytes, or a folder's names with their inodes."""
        info = os.fstat(descriptor)
        if not stat.S_ISDIR(info.st_mode):
            return os.pread(descriptor, info.st_size, 0)
        found = {}
        for name in os.listdir(descriptor):
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                found[name] = self._inode(name, descriptor)
        return found

    def _moment(self) -> None:
        """Keep what a power cut could leave now; what was left at an earlier moment counts once."""
        with self._lock:
            told = self.tell()
            self._turn += 1
            top = self._inode(self.root)
            for how, names, data in _ways(self._turn):
                tree: dict[str, bytes | None] = {}
                self._leave(top, "", tree, names, data)
                digest = hashlib.sha256(repr((sorted(tree.items()), told)).encode()).hexdigest()
                if digest not in self._seen:
                    self._seen.add(digest)
                    self.left.append(Left(how, tree, told))

    def _leave(
        self,
        inode: int,
        path: str,
        tree: dict[str, bytes | None],
        names: Choose,
        data: Choose,
    ) -> None:
        now = self._now(self._open[inode])
        if not isinstance(now, dict):
            tree[path] = data(self._synced.get(inode, b""), now)
            return
        if path:
            tree[path] = None
        had = self._synced.get(inode, {})
        for name in sorted({*had, *now}):
            if (child := names(had.get(name), now.get(name))) is not None:
                self._leave(child, f"{path}/{name}" if path else name, tree, names, data)


def _synced(had: Any, _now: Any) -> Any:
    return had


def _written(_had: Any, now: Any) -> Any:
    return now


def _kept(had: Any, now: Any) -> Any:
    return now if now is not None else had


def _gone(had: Any, now: Any) -> Any:
    return None if had is None or now is None else now


def _half(had: bytes, now: bytes) -> bytes:
    return had if had == now else now[: len(now) // 2]


def _zeros(had: bytes, now: bytes) -> bytes:
    return had if had == now else bytes(len(now))


def _ways(turn: int) -> Iterator[tuple[str, Choose, Choose]]:
    yield "only what was synced", _synced, _synced
    content = ("nothing", _synced), ("half", _half), ("zeros", _zeros)
    what, data = content[turn % len(content)]
    yield f"names with {what} for content", _written, data
    yield "no removals", _kept, _written
    yield "nothing new", _gone, _synced
    dice = random.Random(turn)  # noqa: S311 (which of the ways is tried, every time the same)

    def either(had: Any, now: Any) -> Any:
        return dice.choice((had, now))

    yield f"chance {turn}", either, either
