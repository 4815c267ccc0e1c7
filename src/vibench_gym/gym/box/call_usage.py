# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what a model call cost from its answer, while the answer goes by.

A harness may report the tokens of its first conversation only, or invent them; what the model
server says passes here. OpenAI's two dialects are read, streamed or not. Everything is bounded:
what is too large to be looked at, or is no such answer, has no usage and is not counted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from vibench_gym.core.config import MIB

MAX_TOKENS: Final = 10**12
_MAX_HELD_BYTES: Final = 8 * MIB
_CHUNK_HEAD: Final = re.compile(rb"(?:\r\n)?([0-9a-fA-F]{1,8})[^\r\n]*\r\n")
_MAX_CHUNK_HEAD: Final = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of model calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """The tokens of both."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        """What is left without the other's."""
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.reasoning_tokens - other.reasoning_tokens,
            self.cached_tokens - other.cached_tokens,
        )


NO_TOKENS: Final = Usage()


class UsageReader:
    """Watches one answer; `head` is its status line and fields, with the empty line."""

    def __init__(self, head: bytes) -> None:
        lower = head.lower()
        self._streamed = b"text/event-stream" in lower
        self._chunks = (
            _Chunks() if re.search(rb"^transfer-encoding:.*chunked", lower, re.MULTILINE) else None
        )
        length = re.search(rb"^content-length:[ \t]*([0-9]{1,12})", lower, re.MULTILINE)
        self._left = int(length[1]) if length else None
        self._held = bytearray()
        self._dropping = False
        self.usage: Usage | None = None
        """None: not told yet, or never."""

    def take(self, data: bytes) -> None:
        """The next piece of the body, as it came over the wire."""
        if self._left is not None:
            self._left -= len(data)
        self._hold(data if self._chunks is None else self._chunks.take(data))
        if not self._streamed and (self._left == 0 or (self._chunks and self._chunks.ended)):
            self.end()

    def end(self) -> None:
        """The answer is over: an answer without a length is whole only now."""
        if not self._dropping:
            self._read(bytes(self._held))
        self._held.clear()

    def _hold(self, body: bytes) -> None:
        self._held += body
        if self._streamed and b"\n" in body:
            *lines, rest = self._held.split(b"\n")
            for line in lines:
                if not self._dropping:
                    self._read(bytes(line))
                self._dropping = False
            self._held = rest
        if len(self._held) > _MAX_HELD_BYTES:
            self._held.clear()
            self._dropping = True

    def _read(self, text: bytes) -> None:
        """One event, or a whole body."""
        text = text.removeprefix(b"data:") if self._streamed else text
        if b'"usage"' not in text:
            return
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            return
        for holder in (said, said.get("response")) if isinstance(said, dict) else ():
            usage = holder.get("usage") if isinstance(holder, dict) else None
            if isinstance(usage, dict):
                self.usage = _usage(usage) or self.usage


class _Chunks:
    """Takes the framing of HTTP/1.1's chunked bodies off."""

    def __init__(self) -> None:
        self._left = 0
        self._head = b""
        self.ended = False

    def take(self, data: bytes) -> bytes:
        """The content in the next piece; nothing more once it is not chunked as it should be."""
        content = bytearray()
        data, self._head = self._head + data, b""
        while data and not self.ended:
            if self._left:
                content += data[: self._left]
                data, self._left = data[self._left :], max(0, self._left - len(data))
                continue
            head = _CHUNK_HEAD.match(data)
            if head is None:
                self._head = data
                self.ended = len(data) > _MAX_CHUNK_HEAD
                break
            self._left = int(head[1], 16)
            self.ended = self._left == 0
            data = data[head.end() :]
        return bytes(content)


def _usage(said: dict[str, object]) -> Usage | None:
    """The numbers of Chat Completions or of Responses; None where these are not there."""
    given = _count(said.get("prompt_tokens", said.get("input_tokens")))
    made = _count(said.get("completion_tokens", said.get("output_tokens")))
    if given is None or made is None:
        return None
    of_given = said.get("prompt_tokens_details", said.get("input_tokens_details"))
    of_made = said.get("completion_tokens_details", said.get("output_tokens_details"))
    cached = _count(of_given.get("cached_tokens")) if isinstance(of_given, dict) else None
    thought = _count(of_made.get("reasoning_tokens")) if isinstance(of_made, dict) else None
    return Usage(given, made, min(thought or 0, made), min(cached or 0, given))


def _count(value: object) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
    return value if good and isinstance(value, int) else None
