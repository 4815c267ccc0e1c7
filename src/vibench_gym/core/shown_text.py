# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
r"""How text that is not ours is shown: on a terminal, in a log, in JSON of ours, to a model.

A character that a terminal would obey, that reorders what is displayed, or that nobody sees
becomes its JSON escape: `\u001b`, `\u202e`, a pair of them above U+FFFF. Where such a character is
part of how people write (a joiner in a Persian word or in an emoji, a soft hyphen within a word),
it stays.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pydantic import BaseModel

_LETTER: Final = r"[^\W\d_]"
_JOINING: Final = (
    "\u0620-\u07ff\u0840-\u0dff\u0e80-\u109f\u1780-\u17b3\u17b6-\u17ff\u1810-\u18af\u1900-\u1cff"
)
"""Scripts in which a joiner or non-joiner is spelling."""
_EMOJI: Final = "\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"
_SOMETIMES_EMOJI: Final = "#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299"
_FLAGS: Final = tuple(
    "".join(chr(0xE0000 + ord(letter)) for letter in region)
    for region in ("gbeng", "gbsct", "gbwls")
)
_HAN: Final = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_SELECTOR: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HONEST: Final = "|".join(
    (
        f"(?<={_LETTER})\u00ad(?={_LETTER})",
        f"(?<=[{_JOINING}])[\u200c\u200d](?![\u200b-\u200f\u2060-\u206f])",
        f"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])",
        f"(?<=[{_EMOJI}]\ufe0f)\u200d(?=[{_EMOJI}])",
        f"(?<=[{_EMOJI}{_SOMETIMES_EMOJI}])[\ufe0e\ufe0f](?![{_SELECTOR}])",
        f"(?<=[{_HAN}])[\U000e0100-\U000e01ef](?![{_SELECTOR}])",
        "(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]",
        # The flags of England, Scotland and Wales, the only ones that are spelled with tags.
        f"(?<=\U0001f3f4)(?:{'|'.join(_FLAGS)})\U000e007f",
    )
)
_HIDDEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff{_SELECTOR}"
)
"""What takes no room: marks of direction, joiners, fillers, selectors, tags."""
_CONTROL: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
"""But for tab and line feed; with the other line breaks and halves of surrogate pairs."""
_ANY: Final = re.compile(f"[{_CONTROL}{_HIDDEN}]")
_SHOWN_AS_SUCH: Final = re.compile(f"({_HONEST})|[{_CONTROL}{_HIDDEN}]")
_UNSEEN: Final = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff" + _HIDDEN + "]")
_HALF: Final = re.compile("[\ud800-\udfff]")
_JSON_ESCAPE: Final = re.compile(
    r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})|\\."
)
_ESCAPED: Final = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})")
_MORE: Final = "  | "


def escaped(character: str) -> str:
    """A character as its JSON escape, whatever it is."""
    point = ord(character)
    if point <= 0xFFFF:  # noqa: PLR2004 (what four digits can say)
        return f"\\u{point:04x}"
    high, low = divmod(point - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def visible(text: str) -> str:
    """The text with everything in it visible; tabs and line breaks stay, CRLF is a line break.

    Nothing changes when it is done twice.
    """
    text = text.replace("\r\n", "\n")
    # Most text has none: finding that out is ten times faster.
    return _SHOWN_AS_SUCH.sub(_shown, text) if _ANY.search(text) else text


def visible_lines(text: str) -> str:
    """As `visible`, each line but the first marked, so that none can pass for a line of ours."""
    return visible(text).replace("\n", f"\n{_MORE}")


def visible_json(value: BaseModel | Any, *, indent: int | None = 2) -> str:
    """JSON in which such characters are escaped: a reader of it gets the value as it was.

    But for half a surrogate pair, as in `strict_json`.

    Raises:
        ValueError: a number is not finite.
    """
    data = value.model_dump(mode="python") if isinstance(value, BaseModel) else value
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent)
    text = _HALF.sub(lambda match: f"\\{escaped(match[0])}", text)
    # Outside of strings there are none, and inside an escape means the same.
    return _SHOWN_AS_SUCH.sub(_shown, text)


def strict_json(text: str) -> str:
    """ASCII JSON without halves of surrogate pairs, which strict readers refuse with all the rest.

    A half becomes the text of its escape.
    """
    if "\\ud" not in text:
        return text
    return _JSON_ESCAPE.sub(lambda match: f"\\{match[0]}" if match[1] else match[0], text)


def as_written(text: str, also: str = "") -> str:
    """Undo `visible`, and the escapes of the characters in `also`; no other escape is touched."""
    return _ESCAPED.sub(lambda match: _written(match, also), text)


def without_unseen(text: str) -> str:
    """The text without what nobody sees; white space stays."""
    return _UNSEEN.sub("", text)


def _shown(match: re.Match[str]) -> str:
    return match[0] if match[1] else escaped(match[0])


def _written(match: re.Match[str], also: str) -> str:
    high, low, single = match.groups()
    if single is not None:
        character = chr(int(single, 16))
    else:
        character = chr(0x10000 + (int(high, 16) - 0xD800) * 0x400 + int(low, 16) - 0xDC00)
    return character if character in also or visible(character) != character else match[0]
