# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Embeds screenshots as data URIs, within a budget, so that even a phone can open a report."""

from __future__ import annotations

import base64
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_PICTURE_BYTES = 2 * 1024 * 1024
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}


@dataclass(slots=True)
class Pictures:
    """Gathers the pictures of one report; each distinct picture is embedded once.

    `budget_bytes` bounds the sum of the files; what does not fit is counted in `left_out`.
    """

    budget_bytes: int
    left_out: int = 0
    uris: list[str] = field(default_factory=list)
    _seen: dict[bytes, int] = field(default_factory=dict)

    def add(self, path: Path) -> int | None:
        """The picture's index in `uris`; None if missing, no picture, too large or over budget."""
        data = _read(path)
        if data is None:
            return None
        known = self._seen.get(data)
        if known is not None:
            return known
        mime = next((mime for magic, mime in _MAGIC.items() if data.startswith(magic)), None)
        if mime is None:
            return None
        if len(data) > self.budget_bytes:
            self.left_out += 1
            return None
        self.budget_bytes -= len(data)
        self.uris.append(f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}")
        self._seen[data] = len(self.uris) - 1
        return self._seen[data]


def _read(path: Path) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 (from a descriptor)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PICTURE_BYTES:
            return None
        return file.read(MAX_PICTURE_BYTES)
