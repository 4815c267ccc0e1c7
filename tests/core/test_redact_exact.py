# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What goes of a text that holds secrets, to the character, and what stays."""

from __future__ import annotations

import base64

import pytest

from vibench_gym.core.redact import PIECE, REDACTED, redact

KEY = "k3yAbcDefGhi7Jkl"
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
