# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Dates and captured values in scripts."""

from __future__ import annotations

import re
from datetime import date

import pytest

from vibench_gym.llm.replay.script.template import (
    UnknownPlaceholder,
    expand,
    today_of,
    unknown_placeholders,
)

DAY = date(2026, 1, 31)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${today}", "2026-01-31"),
        ("on ${today+1}.", "on 2026-02-01."),
        ("${today-31}", "2025-12-31"),
        ("${today+3:%d/%m/%Y}", "03/02/2026"),
        ("${today:%B}", "January"),
        ("${code}!", "a.b!"),
        ("$code $ {x}", "$code $ {x}"),
    ],
)
def test_expands(text: str, expected: str) -> None:
    assert expand(text, today=DAY, captured={"code": "a.b"}) == expected


def test_values_are_literal_in_a_regex() -> None:
    pattern = expand("^${code}$", today=DAY, captured={"code": "a.b"}, escape=re.escape)
    assert re.search(pattern, "a.b")
    assert not re.search(pattern, "axb")


def test_an_unknown_name_has_no_value() -> None:
    with pytest.raises(UnknownPlaceholder, match="not captured"):
        expand("${code}", today=DAY, captured={})
    with pytest.raises(UnknownPlaceholder, match="Today"):
        expand("${today}", today=None, captured={})
    assert expand("${HOME}", today=DAY, captured={}, keep_unknown=True) == "${HOME}"
    assert unknown_placeholders("${a} ${today+1} ${b}", {"b"}) == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello\nToday: 2026-01-31\n", DAY),
        ("Today: 2026-02-31", None),
        ("It is not Today: 2026-01-31", None),
        ("", None),
    ],
)
def test_the_day_is_the_first_messages(text: str, expected: date | None) -> None:
    assert today_of(text) == expected
