# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.core.redact import MIN_SECRET, PIECE, REDACTED, redact

SECRET = "sk-Secret+/key 9"


@pytest.mark.parametrize("prefix", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("suffix", ["", "tail"])
def test_base64_at_every_alignment(prefix: str, suffix: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(f"{prefix}{SECRET}{suffix}".encode()).decode()
        assert REDACTED in redact(f"key={text};", [SECRET])


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        SECRET[::-1],
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
    ],
)
def test_other_forms(form: str) -> None:
    assert redact(f"<{form}>", [SECRET]) == f"<{REDACTED}>"


def test_text_without_secrets_stays() -> None:
    assert redact("plain abc", ["", "abc", SECRET]) == "plain abc"
    assert redact("plain", []) == "plain"


@given(
    st.text(min_size=MIN_SECRET, max_size=40),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_the_secret_is_gone_in_every_form(secret: str, before: str, after: str) -> None:
    forms = (
        secret,
        secret[::-1],
        secret.encode("utf-8", "surrogateescape").hex(),
    )
    for form in forms:
        clean = redact(f"{before}{form}{after}", [secret])
        assert REDACTED in clean


@given(st.text(st.characters(codec="utf-8"), min_size=8, max_size=40), st.integers(0, 5))
def test_the_secret_is_gone_in_base64(secret: str, shift: int) -> None:
    text = base64.b64encode(b"x" * shift + secret.encode() + b"yy").decode()
    assert REDACTED in redact(text, [secret])


KEY = "sk-live-Q7x2LmVt93RbHcZp0aWd81Ks"


@pytest.mark.parametrize(
    "text",
    [
        f"{KEY[:16]}\n{KEY[16:]}",
        f"first half {KEY[:16]}, second half {KEY[16:]}",
        " ".join(KEY),
        str([KEY[at : at + 4] for at in range(0, len(KEY), 4)]),
        "'+'".join(KEY[at : at + 3] for at in range(0, len(KEY), 3)),
        base64.encodebytes(f"user:{KEY} and so on".encode() * 3).decode(),
        KEY.encode().hex("-", 2),
        KEY[::-1][:16] + "..." + KEY[::-1][16:],
        KEY.lower(),
    ],
)
def test_a_secret_in_pieces(text: str) -> None:
    left = redact(text, [KEY])

    assert REDACTED in left
    bare = "".join(filter(str.isalnum, left.lower()))
    key = "".join(filter(str.isalnum, KEY.lower()))
    for form in (key, key[::-1], KEY.encode().hex()):
        assert not any(form[at : at + PIECE] in bare for at in range(len(form) - PIECE + 1))


def test_words_that_a_secret_happens_to_hold_stay() -> None:
    assert redact("we live in sk", [KEY]) == "we live in sk"


def test_what_stands_around_a_piece_stays() -> None:
    assert redact(f"a {KEY[:14]}, b", [KEY]) == f"a {REDACTED}, b"
