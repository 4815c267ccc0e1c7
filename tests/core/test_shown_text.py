# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Text of others is shown so that nothing in it acts or hides, and people's writing stays."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from vibench_gym.core.records import canonical_json
from vibench_gym.core.shown_text import (
    as_written,
    escaped,
    visible,
    visible_json,
    visible_lines,
    without_unseen,
)

ODD = {
    "clears the screen": ("a\x1b[2Jb", "a\\u001b[2Jb"),
    "C1 control sequence": ("a\x9b2Jb", "a\\u009b2Jb"),
    "backspace": ("good\b\b\b\bbad", "good\\u0008\\u0008\\u0008\\u0008bad"),
    "over the line's start": ("bad\rgood", "bad\\u000dgood"),
    "delete": ("\x7f", "\\u007f"),
    "reordered": ("\u202etxt.exe\u2066", "\\u202etxt.exe\\u2066"),
    "marks": ("a\u200eb\u200f\u061c", "a\\u200eb\\u200f\\u061c"),
    "zero width": ("a\u200bb\ufeff\u2060", "a\\u200bb\\ufeff\\u2060"),
    "joiner in Latin": ("a\u200db", "a\\u200db"),
    "tags": ("x\U000e0041\U000e007f", "x\\udb40\\udc41\\udb40\\udc7f"),
    "selectors": ("a\ufe0f\U000e0100", "a\\ufe0f\\udb40\\udd00"),
    "fillers": ("\u3164\uffa0\u115f", "\\u3164\\uffa0\\u115f"),
    "half a pair": ("\ud83d", "\\ud83d"),
    "line separators": ("a\u2028b\x85", "a\\u2028b\\u0085"),
    "loose soft hyphen": ("\u00ad a\u00ad", "\\u00ad a\\u00ad"),
    "unknown flag": ("\U0001f3f4\U000e0078\U000e007f", "\U0001f3f4\\udb40\\udc78\\udb40\\udc7f"),
    "notes between lines": ("\ufff9x", "\\ufff9x"),
}
HONEST = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Arabic": "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "Hebrew": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "Mongolian": "\u182e\u180b\u1823",
    "family": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "rainbow": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "heart": "\u2764\ufe0f",
    "keycap": "1\ufe0f\u20e3",
    "England": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Japanese name": "\u845b\U000e0100",
    "soft hyphen": "Donau\u00addampf\u00adschiff",
    "accents": "na\u00efve cafe\u0301 \u00df \u2026",
    "white space": "a\tb\nc\u00a0d\u3000e",
    "literal escape": "type \\u001b[2J",
    "markup": "[bold]x[/bold] <b>",
}


@pytest.mark.parametrize(("text", "shown"), ODD.values(), ids=ODD)
def test_what_acts_or_hides_is_shown_as_such(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert as_written(shown) == text


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text
    assert as_written(text) == (text if "\\u001b" not in text else "type \x1b[2J")


def test_crlf_is_a_line_break() -> None:
    assert visible("a\r\nb\u200b") == "a\nb\\u200b"


def test_no_further_line_passes_for_one_of_ours() -> None:
    assert visible_lines("first\nAll plans passed\r\n\nx") == (
        "first\n  | All plans passed\n  | \n  | x"
    )
    assert visible_lines("one\u2028line") == "one\\u2028line"


anything = st.text(st.characters(exclude_categories=()), max_size=60) | st.text(
    st.sampled_from(
        "a1\u00ad\u200c\u200d\ufe0f\U0001f469\u0645\u17b4\u180b\u1820\U000e0067\u202e\ud83d"
    ),
    max_size=12,
)


@given(anything)
@example("x\ufe0f\u200d\U0001f469")
@example("\u17b4\u200d")
def test_twice_is_as_once_and_nothing_is_lost(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert as_written(shown) == as_written(text.replace("\r\n", "\n"))
    for character in shown:
        assert character in "\n\t" or unicodedata.category(character) not in {
            "Cc",
            "Cs",
            "Zl",
            "Zp",
        }
    assert not re.search("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]", shown)


def test_only_what_would_be_escaped_is_read_back() -> None:
    assert as_written("\\u0041\\u003c") == "\\u0041\\u003c"
    assert as_written("\\u0041\\u003c", "<") == "\\u0041<"
    assert as_written("\\udb40\\udc41 \\ud83d\\udc69") == "\U000e0041 \\ud83d\\udc69"
    assert escaped("<") == "\\u003c"


class Titled(BaseModel):
    title: str


HALVES = "a\ud83d b\\\\ud83d c\ude00 \U0001f600 \\ \ud83d"


def test_records_with_halves_of_pairs_can_be_read_again() -> None:
    written = canonical_json(Titled(title=HALVES))
    read = Titled.model_validate_json(written)
    assert read.title == HALVES.replace("\ud83d", "\\ud83d").replace("\ude00", "\\ude00")
    assert canonical_json(read) == written
    assert Titled.model_validate_json(visible_json(Titled(title=HALVES))) == read


@given(anything)
def test_every_text_can_be_stored_and_is_then_the_same_bytes(text: str) -> None:
    written = canonical_json({"title": text})
    assert canonical_json(Titled.model_validate_json(written)) == written
    if not re.search("[\ud800-\udfff]", text):
        assert json.loads(written) == {"title": text}


@given(anything)
def test_json_keeps_the_value_and_can_always_be_written(text: str) -> None:
    written = visible_json(Titled(title=text))
    assert written.encode()
    halves = re.sub("[\ud800-\udfff]", lambda match: escaped(match[0]), text)
    assert Titled.model_validate_json(written).title == halves
    assert visible(written) == written
    assert visible_json([text], indent=None).count("\n") == 0


def test_json_holds_no_number_that_is_none() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        visible_json({"x": float("nan")})


def test_unseen_characters_go_and_white_space_stays() -> None:
    assert without_unseen("Ig\u200bno\x01re\U000e0041 a\nb\tc\x0bd\u2028e\u00ad") == (
        "Ignore a\nb\tc\x0bd\u2028e"
    )
