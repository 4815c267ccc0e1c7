# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept of a run of ViBench's scripts: what they printed and wrote, without credentials.

Text is cleaned; pictures are kept as they are; anything else is left behind. These functions
block: call them through `asyncio.to_thread`.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vibench_gym.core.durable import write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER: Final = "vibench"
MAX_FILES: Final = 2000
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_BYTES: Final = 128 * 1024 * 1024
_TEXT: Final = frozenset({".json", ".jsonl", ".log", ".txt", ".md", ".yaml", ".yml", ".sh", ".sql"})
_PICTURE: Final = {".png": b"\x89PNG\r\n\x1a\n", ".jpg": b"\xff\xd8\xff", ".webp": b"RIFF"}


def keep_text(folder: Path, name: str, text: str, clean: Callable[[str], str]) -> None:
    """Store what a script printed."""
    write_atomic(folder / FOLDER / name, clean(text).encode("utf-8", "replace"))


def keep_tree(source: Path, folder: Path, clean: Callable[[str], str]) -> int:
    """Store texts and pictures below `source`, which an app has had a hand in; how many."""
    budget = MAX_BYTES
    kept = 0
    for path in _files(source):
        if kept >= MAX_FILES:
            break
        name = str(path.relative_to(source))
        data = _read(path, min(budget, MAX_FILE_BYTES))
        if data is None or clean(name) != name:
            continue
        if path.suffix in _TEXT:
            data = clean(data.decode("utf-8", "replace")).encode("utf-8", "replace")
        elif not data.startswith(_PICTURE[path.suffix]):
            continue
        write_atomic(folder / FOLDER / name, data)
        budget -= len(data)
        kept += 1
    return kept


def _files(source: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(source):
        folders.sort()
        for name in sorted(files):
            path = Path(parent, name)
            printable = str(path).isprintable()
            if path.suffix in _TEXT | _PICTURE.keys() and printable:
                yield path


def _read(path: Path, limit: int) -> bytes | None:
    """A regular file's bytes, never through a link; None for anything else and for larger ones."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None
