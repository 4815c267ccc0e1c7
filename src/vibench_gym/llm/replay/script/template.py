# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`${...}` in replay scripts: dates relative to the day of grading, and captured values."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

_PLACEHOLDER = re.compile(r"\$\{([^{}\n]*)\}")
_DATE = re.compile(r"today(?P<days>[+-]\d{1,4})?(?::(?P<format>.+))?")
_TODAY_LINE = re.compile(r"^Today: (\d{4}-\d{2}-\d{2})\b", re.MULTILINE)


class UnknownPlaceholder(ValueError):
    """A `${...}` that has no value in this conversation."""


def placeholders(text: str, replace: Callable[[str], str]) -> str:
    """The text with each `${name}` replaced by `replace(name)`."""
    return _PLACEHOLDER.sub(lambda match: replace(match[1]), text)


def unknown_placeholders(text: str, captured: Container[str]) -> list[str]:
    """The names in the text that are neither a date nor captured."""
    return [
        name
        for name in _PLACEHOLDER.findall(text)
        if name not in captured and not _DATE.fullmatch(name)
    ]


def today_of(text: str) -> date | None:
    """The day that the first message of a conversation names, None where it names none."""
    match = _TODAY_LINE.search(text)
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


def expand(
    text: str,
    *,
    today: date | None,
    captured: Mapping[str, str],
    escape: Callable[[str], str] = str,
    keep_unknown: bool = False,
) -> str:
    """Fill in dates and captured values; `escape` makes them safe for a regex.

    Raises:
        UnknownPlaceholder: nothing is known by that name and `keep_unknown` is off.
    """

    def value(name: str) -> str:
        if name in captured:
            return escape(captured[name])
        match = _DATE.fullmatch(name)
        if match is not None and today is not None:
            day = today + timedelta(days=int(match["days"] or 0))
            return escape(day.strftime(match["format"] or "%Y-%m-%d"))
        if match is None and keep_unknown:
            return f"${{{name}}}"
        missing = "the first message names no `Today:`" if match else "it was not captured"
        raise UnknownPlaceholder(f"${{{name}}} has no value: {missing}")

    return placeholders(text, value)
