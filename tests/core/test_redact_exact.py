# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What goes of a text that holds secrets, to the character, and what stays."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest

from vibench_gym.core.redact import PIECE, REDACTED, redact

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "k3yAbcDefGhi7Jkl"
ESCAPED = 'sk-"Se cret"/\\9?'
"""JSON writes it with escapes."""
ODD = "!a#b$c%d^e&f*g(h)"
"""Fewer letters than a piece has characters: it is found as it stands or not at all."""


def test_a_short_secret_goes_in_any_case() -> None:
    assert redact("see ABCDEF there", ["abcdef"]) == f"see {REDACTED} there"


@pytest.mark.parametrize("secret", [KEY, ODD])
@pytest.mark.parametrize("at", [0, 1, -PIECE])
def test_a_piece_goes_from_wherever_it_was_taken(secret: str, at: int) -> None:
    piece = secret[at:][:PIECE]
    assert len(piece) == PIECE
    for text in (piece, f"so {piece}", f"{piece} is it", f"so {piece} is it"):
        assert redact(text, [secret]) == text.replace(piece, REDACTED)


@pytest.mark.parametrize("secret", [KEY, ODD])
def test_what_is_shorter_than_a_piece_stays(secret: str) -> None:
    for short in (secret[: PIECE - 1], secret[1 - PIECE :]):
        for text in (short, f"so {short}", f"{short} is it"):
            assert redact(text, [secret]) == text


@pytest.mark.parametrize("between", ["-", ", ", "\n", "·"])
def test_a_torn_piece_goes_and_nothing_beside_it(between: str) -> None:
    for piece in (KEY[:PIECE], KEY[-PIECE:], KEY):
        torn = between.join(piece)
        assert redact(f"<{torn}> and <{torn}>!", [KEY]) == f"<{REDACTED}> and <{REDACTED}>!"


def test_torn_pieces_that_are_too_short_stay() -> None:
    torn = "-".join(KEY[1 - PIECE :])
    assert redact(torn, [KEY]) == torn


def test_pieces_that_touch_go_as_one() -> None:
    other = KEY[::-1].swapcase()
    text = f"<{KEY[:PIECE]}{other[:PIECE]}>"
    assert redact(text, [KEY, other]) == f"<{REDACTED}>"


@pytest.mark.parametrize("secret", ["abcdef", "abcdefg", "abcdefgh"])
@pytest.mark.parametrize("before", range(6))
def test_what_a_secret_alone_decides_of_its_base64_goes(secret: str, before: int) -> None:
    """Found by what stays the same whatever is encoded before and after the secret."""
    codes = [
        base64.b64encode(fill * before + secret.encode() + fill * 5).decode()
        for fill in (b"\0", b"\xff", b"U", b"\xaa")
    ]
    same = [at for at, letters in enumerate(zip(*codes, strict=True)) if len(set(letters)) == 1]
    start, end = same[0], same[-1] + 1
    if codes[0].endswith("="):
        end = max(at for at in same if codes[0][at] != "=") + 1
    assert end - start >= 6
    for code in codes:
        assert redact(code, [secret]) == code[:start] + REDACTED + code[end:]


def test_a_secret_inside_a_secret_is_taken_out_whole() -> None:
    longer = "abcdef-ghijkl-mnopqr"
    assert redact(f"<{longer}>", ["abcdef-", longer, "ghijkl"]) == f"<{REDACTED}>"


def test_the_shortest_secret_is_a_secret() -> None:
    assert redact("<abc123>", ["abc123"]) == f"<{REDACTED}>"


def test_forms_of_a_secret_that_needs_escapes() -> None:
    assert redact(json.dumps(f"a{ESCAPED}b"), [ESCAPED]) == f'"a{REDACTED}b"'
    odd = "sk-\udcff-not-utf8"
    plain = odd.encode("utf-8", "surrogateescape")
    assert REDACTED in redact(base64.b64encode(plain).decode(), [odd])


@pytest.mark.parametrize("before", [b"", b"x", b"xy"])
@pytest.mark.parametrize("turned", [False, True])
def test_nothing_of_an_encoded_secret_is_left_but_its_edges(before: bytes, *, turned: bool) -> None:
    secret = "".join(chr(97 + n % 26) for n in range(30)) + ">>>???"
    shown = secret[::-1] if turned else secret
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + shown.encode() + b"tail").decode()
        left = redact(text, [secret]).replace(REDACTED, "")
        assert REDACTED in redact(text, [secret])
        assert len(left) <= 4 + 4 + 8


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_an_encoding_of_the_secret_alone_goes_whole(
    encode: Callable[[bytes], bytes], *, turned: bool
) -> None:
    secret = "~~~???>>>" * 3
    shown = encode((secret[::-1] if turned else secret).encode()).decode()
    assert redact(f"<{shown}>", [secret]) == f"<{REDACTED}>"


@pytest.mark.parametrize("secret", ["sk-\udcff-no text", "k y/+&=%\u00e9!"])
def test_every_spelling_of_its_bytes_goes_whole(secret: str) -> None:
    data = secret.encode("utf-8", "surrogateescape")
    for shown in (
        data.hex(),
        data.hex(" "),
        data.hex(":").upper(),
        "".join(f"%{byte:02X}" for byte in data),
        "".join(f"\\x{byte:02x}" for byte in data),
        quote(secret, safe="", errors="surrogateescape"),
        quote_plus(secret, errors="surrogateescape"),
        base64.b64encode(data).decode(),
    ):
        told = redact(f"<{shown}>", [secret])
        assert told.startswith(f"<{REDACTED}")
        assert len(told) <= len(REDACTED) + 6
