# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What removes a defence: exact texts of the product's source, and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement; `file` is a path below the package."""

    file: str
    find: str
    replace: str = ""

    def applied(self, text: str) -> str:
        """The file's text with the replacement made.

        Raises:
            ValueError: the text to find does not occur exactly once.
        """
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"{self.file}: occurs {count} times, not once: {self.find!r}")
        return text.replace(self.find, self.replace)


@dataclass(frozen=True, slots=True)
class Defence:
    """Something that stands between an attacker and a gain, however many lines it has."""

    name: str
    what: str
    edits: tuple[Edit, ...]


def defence(name: str, what: str, *edits: tuple[str, str, str]) -> Defence:
    """A defence from (file, find, replace)."""
    return Defence(name, what, tuple(Edit(*edit) for edit in edits))
