# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a call cost, read from answers of every form and cut anywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.gym.box import call_usage
from vibench_gym.gym.box.call_usage import MAX_TOKENS, Usage, UsageReader

CHAT = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
RESPONSES = {
    "input_tokens": 11,
    "output_tokens": 7,
    "input_tokens_details": {"cached_tokens": 3},
    "output_tokens_details": {"reasoning_tokens": 2},
}
COST = Usage(11, 7, 2, 3)
STREAM = b"Content-Type: text/event-stream\r\n"


def head(*fields: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + b"".join(fields) + b"\r\n"


def events(*said: Any) -> bytes:
    lines = [f"data: {json.dumps(one)}\n\n".encode() for one in said]
    return b"".join((*lines, b"data: [DONE]\n\n"))


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    framed = (b"%x;name=value\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"".join((*framed, b"0\r\n\r\n"))


def read(answer: bytes, *fields: bytes, piece: int = 1 << 20) -> UsageReader:
    reader = UsageReader(head(*fields))
    for start in range(0, len(answer), piece):
        reader.take(answer[start : start + piece])
    return reader


@pytest.mark.parametrize("usage", [CHAT, RESPONSES])
@given(piece=st.integers(1, 200), size=st.integers(1, 100))
def test_a_stream_is_read_however_it_is_cut(usage: Any, piece: int, size: int) -> None:
    body = events({"choices": [], "usage": None}, {"response": {"usage": usage}})
    sent = chunked(body, size)

    assert read(sent, STREAM, b"Transfer-Encoding: chunked\r\n", piece=piece).usage == COST
    assert read(body, STREAM, piece=piece).usage == COST


@given(piece=st.integers(1, 200))
def test_a_whole_answer_is_read_as_soon_as_it_is_there(piece: int) -> None:
    body = json.dumps({"choices": [], "usage": CHAT}).encode()
    length = b"Content-Length: %d\r\n" % len(body)

    assert read(body, length, piece=piece).usage == COST
    assert read(chunked(body, 9), b"transfer-encoding: CHUNKED\r\n", piece=piece).usage == COST
    open_ended = read(body, piece=piece)
    assert open_ended.usage is None
    open_ended.end()
    assert open_ended.usage == COST


def test_the_last_word_of_a_stream_counts() -> None:
    first = {"usage": {"prompt_tokens": 11, "completion_tokens": 1}}

    assert read(events(first, {"usage": CHAT}), STREAM).usage == COST


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": 1},
        {"prompt_tokens": "1", "completion_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"prompt_tokens": MAX_TOKENS + 1, "completion_tokens": 1},
        [],
    ],
)
def test_what_is_no_count_is_not_counted(usage: Any) -> None:
    assert read(events({"usage": usage}), STREAM).usage is None


def test_parts_are_no_more_than_the_whole() -> None:
    usage = CHAT | {"prompt_tokens_details": {"cached_tokens": 99}}
    odd = CHAT | {"prompt_tokens_details": 3, "completion_tokens_details": {}}

    assert read(events({"usage": usage}), STREAM).usage == Usage(11, 7, 2, 11)
    assert read(events({"usage": odd}), STREAM).usage == Usage(11, 7)


@given(st.binary(max_size=400), st.booleans(), st.booleans())
def test_no_answer_raises(junk: bytes, streamed: bool, framed: bool) -> None:
    fields = (STREAM if streamed else b"", b"Transfer-Encoding: chunked\r\n" if framed else b"")
    reader = read(junk + b'{"usage"' + junk, *fields)
    reader.end()


def test_what_is_too_large_is_dropped_and_the_next_event_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_usage, "_MAX_HELD_BYTES", 4000)
    large = events({"text": "x" * 9000, "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    reader = read(large + events({"usage": CHAT}), STREAM, piece=500)
    whole = read(b'{"usage": {}, "text": "' + b"x" * 9000 + b'"}', piece=500)
    whole.end()

    assert reader.usage == COST
    assert whole.usage is None
    assert len(reader._held) + len(whole._held) < 1000
