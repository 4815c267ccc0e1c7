# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Takes secrets out of text, in the forms in which programs print them, whole or in pieces.

The second line only: no secret is in a zone whose output we store.

A form is found by its pieces: every run of `PIECE` characters of it counts, as it stands and with
whatever is no letter or digit left out, so that a key which a program cut into lines, list items or
fields goes as well. What is left of a secret then is shorter than a piece.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

REDACTED = "[redacted]"
MIN_SECRET = 6
"""Shorter ones are no secrets, and taking them out would shred the text."""
PIECE = 10
"""Characters of a secret's form that give it away; fewer are words that any text may hold."""
_MIN_FORM = 6
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets: plain, reversed, hexadecimal, base64, percent-encoded."""
    exact: set[str] = set()
    any_case: set[str] = set()
    for secret in secrets:
        if len(secret) >= MIN_SECRET:
            exact.update(form for form in _exact_forms(secret) if len(form) >= _MIN_FORM)
            any_case.update(form for form in _any_case_forms(secret) if len(form) >= _MIN_FORM)
    if not exact:
        return text
    for forms, flags in ((exact, re.NOFLAG), (any_case, re.IGNORECASE)):
        ordered = sorted(forms, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, ordered)), REDACTED, text, flags=flags)
    text = _without_pieces(text, exact, str)
    text = _without_pieces(text, any_case, _lowered)
    return _without_pieces_of(text, {*map(_lowered, exact), *map(_lowered, any_case)})


def _lowered(text: str) -> str:
    """ASCII only: the length stays."""
    return text.translate(_LOWER)


def _without_pieces(text: str, forms: Iterable[str], fold: Callable[[str], str]) -> str:
    """Without runs of a form that stand together."""
    pieces = {
        folded[at : at + PIECE]
        for folded in map(fold, forms)
        for at in range(len(folded) - PIECE + 1)
    }
    return _cut(text, _found(fold(text), pieces))


def _without_pieces_of(text: str, forms: Iterable[str]) -> str:
    """Without runs of a form that are torn apart by what is no letter or digit."""
    pieces = {
        squeezed[at : at + PIECE]
        for squeezed in (_squeeze(form)[0] for form in forms)
        for at in range(len(squeezed) - PIECE + 1)
    }
    squeezed, places = _squeeze(_lowered(text))
    spans = [(places[start], places[end - 1] + 1) for start, end in _found(squeezed, pieces)]
    return _cut(text, spans)


def _squeeze(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text, and where each of them stood."""
    places = [at for at, character in enumerate(text) if character.isalnum()]
    return "".join(text[at] for at in places), places


def _found(text: str, pieces: set[str]) -> list[tuple[int, int]]:
    """Where pieces stand in a text, pieces that overlap or touch taken together."""
    spans: list[tuple[int, int]] = []
    for at in range(len(text) - PIECE + 1):
        if text[at : at + PIECE] in pieces:
            if spans and at <= spans[-1][1]:
                spans[-1] = (spans[-1][0], at + PIECE)
            else:
                spans.append((at, at + PIECE))
    return spans


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    parts = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], REDACTED]
        done = end
    return "".join([*parts, text[done:]])


def _exact_forms(secret: str) -> Iterator[str]:
    yield secret
    yield secret[::-1]
    yield json.dumps(secret)[1:-1]
    for plain in (secret, secret[::-1]):
        yield from _base64_forms(plain.encode("utf-8", "surrogateescape"))


def _base64_forms(data: bytes) -> Iterator[str]:
    """What of the secret's encoding stays the same whatever stands before and after it."""
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + data).decode()
        first = (shift * 8 + 5) // 6
        last = (shift + len(data)) * 8 // 6
        yield whole[first:last]
        yield whole[first:last].replace("+", "-").replace("/", "_")


def _any_case_forms(secret: str) -> Iterator[str]:
    data = secret.encode("utf-8", "surrogateescape")
    yield data.hex()
    yield data.hex(" ")
    yield data.hex(":")
    yield "".join(f"%{byte:02x}" for byte in data)
    yield "".join(f"\\x{byte:02x}" for byte in data)
    yield quote(secret, safe="", errors="surrogateescape")
    yield quote_plus(secret, errors="surrogateescape")
