# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the lines of a folded page fit: what can be used stays, what can only be read gets shorter.

A screen of a dense table is more than a model is shown. A row of plain cells then becomes one line
without refs of the cells, those in the middle of the page first; where that is not enough, lines
are left out: of the deepest, those in the middle first, and never one that can be used.
"""

from __future__ import annotations

import re

_LEAST_JOINED = 2
_JOINED_CHARS = 1_000
_USABLE = re.compile(
    r"- (?:button|link|textbox|searchbox|checkbox|radio|switch|combobox|listbox|option|tab|slider"
    r"|spinbutton|treeitem|iframe|menuitem\w*)\b"
)
_CLICKABLE = ("[cursor=pointer]", "[active]")
_REF = re.compile(r" \[ref=\w+\]")


def fitted(lines: list[str], limit: int) -> list[str]:
    """The lines in at most so many characters, as far as leaving out what is not usable does it."""
    over = _size(lines) - limit
    if over <= 0:
        return lines
    groups = _plain_groups(lines)
    middle = len(lines) / 2
    joined: dict[int, tuple[int, str]] = {}
    for start, end in sorted(groups, key=lambda group: abs(group[0] - middle)):
        if over <= 0:
            break
        line = _join(lines[start:end])
        joined[start] = (end, line)
        over -= _size(lines[start:end]) - _size([line])
    shorter, at = [], 0
    while at < len(lines):
        end, line = joined.get(at, (at + 1, lines[at]))
        shorter.append(line)
        at = end
    return shorter if over <= 0 else _without_the_middle(shorter, limit)


def _plain_groups(lines: list[str]) -> list[tuple[int, int]]:
    """First and last (exclusive) index of each line whose children are leaves only to be read."""
    depths = [_depth(line) for line in lines]
    groups = []
    for start, depth in enumerate(depths):
        end = start + 1
        while end < len(lines) and depths[end] == depth + 2:
            end += 1
        deeper = end < len(lines) and depths[end] > depth
        plain = not deeper and not any(is_usable(line) for line in lines[start:end])
        if plain and end - start > _LEAST_JOINED:
            groups.append((start, end))
    return groups


def _join(lines: list[str]) -> str:
    head, *leaves = lines
    texts = [_REF.sub("", leaf.strip().removeprefix("- "), count=1) for leaf in leaves]
    line = f"{head.removesuffix(':')}: {', '.join(texts)}"
    cut = len(line) - _JOINED_CHARS
    return f"{line[:_JOINED_CHARS]}[... cut: {cut} more characters]" if cut > 0 else line


def _without_the_middle(lines: list[str], limit: int) -> list[str]:
    """Usable lines with those that they are nested in; then others, what is not deep first.

    A page says what happened in a line of its own, not in one of a thousand rows.
    """
    kept: set[int] = set()
    above: list[int] = []
    for index, line in enumerate(lines):
        while above and _depth(lines[above[-1]]) >= _depth(line):
            above.pop()
        above.append(index)
        if is_usable(line):
            kept.update(above)
    room = limit - _size([lines[index] for index in kept])
    others = [index for index in range(len(lines)) if index not in kept]
    others.sort(key=lambda index: (_depth(lines[index]), min(index, len(lines) - index)))
    for index in others:
        room -= _size([lines[index]])
        if room < 0:
            break
        kept.add(index)
    left_out = len(lines) - len(kept)
    shown = [lines[index] for index in sorted(kept)]
    return [*shown, f"[... lines left out between these: {left_out}]"] if left_out else shown


def is_usable(line: str) -> bool:
    """Whether a line of a snapshot is something to act upon."""
    return _USABLE.match(line.lstrip()) is not None or any(sign in line for sign in _CLICKABLE)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _size(lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines)
