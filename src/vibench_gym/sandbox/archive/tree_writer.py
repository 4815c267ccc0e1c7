# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Writes members below one folder and nowhere else.

Every folder is opened by its parent's descriptor without following links, and no link exists
there until everything else is written: whatever the names say, nothing can be reached outside.
Links come last, and only those that stay inside at every stop (`links`).
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from vibench_gym.sandbox.archive import links
from vibench_gym.sandbox.archive.app_scripts import SCRIPTS
from vibench_gym.sandbox.archive.dependency_trees import remove_dependency_trees
from vibench_gym.sandbox.archive.folders import FOLDER_FLAGS, Path, enter, names_in, walk
from vibench_gym.sandbox.archive.members import (
    CHUNK,
    MAX_NAMED,
    BudgetMeter,
    DroppedMember,
    Member,
    printable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeWriter:
    """Extracts members into one open, empty folder."""

    def __init__(self, root: int, meter: BudgetMeter) -> None:
        self._root = root
        self._meter = meter
        self._links: dict[Path, bytes] = {}
        self._modes: dict[Path, int] = {}
        self._parent: Path | None = None
        self._parent_fd = -1
        self._dropped: list[tuple[Path, DroppedMember]] = []
        self.dropped_count = 0
        self.left_out: list[str] = []

    def write(self, members: Iterable[Member]) -> None:
        """Extract every member; unsafe ones are dropped and named.

        Raises:
            ArtifactRejected: beyond the budget.
            OSError: our own file system failed.
        """
        try:
            for member in members:
                self._write(member)
        finally:
            self._close_parent()

    def finish(self) -> tuple[DroppedMember, ...]:
        """Leave out dependency trees, lift a single top folder, make the links, set folder modes.

        Raises:
            OSError: our own file system failed.
        """
        self._lift_single_folder()
        pruned = remove_dependency_trees(self._root, self._meter)
        self.left_out += [printable(b"/".join(path)) for path in pruned]
        for path in list(self._links):
            if any(path[: len(tree)] == tree for tree in pruned):
                del self._links[path]
        self._make_links()
        self._close_parent()
        for path, mode in sorted(self._modes.items(), reverse=True):
            self._set_mode(path, mode)
        self._close_parent()
        return tuple(
            dropped
            for path, dropped in self._dropped
            if not any(path[: len(tree)] == tree for tree in pruned)
        )

    def drop(self, path: Path, name: bytes, reason: str, *, is_link: bool = False) -> None:
        """Record a member that is left out."""
        self.dropped_count += 1
        if len(self._dropped) < MAX_NAMED:
            self._dropped.append((path, DroppedMember(printable(name), reason, is_link)))

    def _write(self, member: Member) -> None:
        try:
            path = self._meter.path_of(member.name)
        except ValueError as error:
            self.drop((), member.name, str(error))
            return
        if member.kind == "special":
            self.drop(path, member.name, member.note)
        elif not path:
            if member.kind != "directory":
                self.drop(path, member.name, "has no name")
        elif member.kind == "directory":
            if self._open_parent(path):
                self._modes[path] = member.mode
            else:
                self.drop(path, member.name, "a file is in its way")
        elif member.kind == "symlink":
            self._links[path] = member.link
        elif member.kind == "hardlink":
            self._copy(path, member)
        else:
            self._meter.expect_bytes(member.size)
            self._file(path, member)

    def _file(self, path: Path, member: Member) -> None:
        if not self._make_room(path):
            self.drop(path, member.name, "something else has its name")
            return
        descriptor = os.open(path[-1], _CREATE, 0o600, dir_fd=self._parent_fd)
        try:
            length = 0
            for chunk in member.chunks:
                size = chunk if isinstance(chunk, int) else len(chunk)
                self._meter.add_bytes(size)
                if isinstance(chunk, int):
                    os.lseek(descriptor, size, os.SEEK_CUR)
                else:
                    _write_all(descriptor, chunk)
                length += size
            os.ftruncate(descriptor, length)
            os.fchmod(descriptor, _kept(member.mode) | 0o600)
        finally:
            os.close(descriptor)

    def _copy(self, path: Path, member: Member) -> None:
        """A hard link becomes a copy of the regular file that its target already is."""
        try:
            target = self._meter.path_of(member.link)
        except ValueError:
            target = ()
        if not target or target == path or not self._open_parent(target[:-1]):
            self.drop(path, member.name, "hard link to nothing inside")
            return
        try:
            source = os.open(target[-1], _READ, dir_fd=self._parent_fd)
        except OSError:
            self.drop(path, member.name, "hard link to nothing inside")
            return
        try:
            info = os.fstat(source)
            if not stat.S_ISREG(info.st_mode):
                self.drop(path, member.name, "hard link to no regular file")
                return
            self._meter.expect_bytes(info.st_size)
            chunks = iter(lambda: os.read(source, CHUNK), b"")
            self._file(path, Member(member.name, "file", info.st_mode, info.st_size, chunks=chunks))
        finally:
            os.close(source)

    def _make_room(self, path: Path) -> bool:
        """Open the parent and remove an earlier file of that name; a folder stays in the way."""
        if not self._open_parent(path[:-1]):
            return False
        self._links.pop(path, None)
        try:
            os.unlink(path[-1], dir_fd=self._parent_fd)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _open_parent(self, path: Path) -> bool:
        """Make the folder the open one, creating what is missing; False if a file is there."""
        if path == self._parent:
            return True
        self._close_parent()
        current = os.dup(self._root)
        for name in path:
            try:
                following = enter(current, name, self._meter)
            except OSError as error:
                os.close(current)
                if isinstance(error, NotADirectoryError | FileExistsError):
                    return False
                raise
            os.close(current)
            current = following
        self._parent, self._parent_fd = path, current
        return True

    def _close_parent(self) -> None:
        if self._parent is not None:
            os.close(self._parent_fd)
        self._parent, self._parent_fd = None, -1

    def _make_links(self) -> None:
        for path, fault in list(links.faults(self._links, self._is_free, self._meter)):
            del self._links[path]
            self.drop(path, b"/".join(path), fault, is_link=True)
        for path, target in self._links.items():
            refused = self._link_fault(path, links.text_to_store(path, target))
            if refused is not None:
                self.drop(path, b"/".join(path), refused, is_link=True)

    def _link_fault(self, path: Path, text: bytes) -> str | None:
        """Make one link; why it could not be made."""
        if not self._open_parent(path[:-1]):
            return links.TAKEN
        try:
            os.symlink(text, path[-1], dir_fd=self._parent_fd)
        except OSError as error:
            return f"link cannot be made: {error.strerror}"
        return None

    def _is_free(self, path: Path) -> bool:
        """Whether a link can stand there: nothing else does, and no file is in its way."""
        try:
            parent = walk(self._root, path[:-1])
        except FileNotFoundError:
            return True
        except NotADirectoryError:
            return False
        try:
            os.stat(path[-1], dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return True
        finally:
            os.close(parent)
        return False

    def _set_mode(self, path: Path, mode: int) -> None:
        # The owner keeps access to folders: a tree that cannot be entered cannot be copied.
        self._close_parent()
        try:
            folder = walk(self._root, path)
        except OSError:
            return  # left out meanwhile
        try:
            os.fchmod(folder, _kept(mode) | 0o700)
        finally:
            os.close(folder)

    def _lift_single_folder(self) -> None:
        """An archive of one folder that holds the scripts is the same as one of its content."""
        self._close_parent()
        tops = {path[0] for path in self._links} | set(names_in(self._root, self._meter))
        if len(tops) != 1:
            return
        top = tops.pop()
        try:
            folder = os.open(top, FOLDER_FLAGS, dir_fd=self._root)
        except OSError:
            return
        try:
            names = names_in(folder, self._meter)
            if not set(map(os.fsencode, SCRIPTS)) <= set(names):
                return
            away = b".lifted"
            while away in names:
                away += b"_"
            os.rename(top, away, src_dir_fd=self._root, dst_dir_fd=self._root)
            for name in names:
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=self._root)
            os.rmdir(away, dir_fd=self._root)
        finally:
            os.close(folder)
        if self._links.pop((top,), None) is not None:
            self.drop((top,), top, links.TAKEN, is_link=True)
        self._links = {path[1:]: link for path, link in self._links.items()}
        self._modes = {path[1:]: mode for path, mode in self._modes.items() if len(path) > 1}
        self._dropped = [(path[1:], dropped) for path, dropped in self._dropped]


def _kept(mode: int) -> int:
    """Permission bits without setuid, setgid and sticky."""
    return mode & 0o777


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
