# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Shortens old tool results, so that a long plan fits a model's context window.

Results are shortened in batches: a conversation that changed on every turn would never be served
from an endpoint's prompt cache. Texts and calls of the model stay whole; only old tool results are
cut to their first characters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vibench_gym.llm.base import Message

MARKER = "\n[older result shortened: {cut} characters left out]"


@dataclass(frozen=True, slots=True)
class Pruning:
    """Keep at least the last `keep` results whole; shorten when `every` more have gathered."""

    keep: int = 12
    every: int = 12
    head_chars: int = 300

    def due(self, messages: Sequence[Message]) -> bool:
        """Whether enough whole results have gathered."""
        return sum(self._is_whole(message) for message in messages) >= self.keep + self.every

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation with old results shortened and their pictures left out."""
        results = [index for index, message in enumerate(messages) if message.role == "tool"]
        old = set(results[: -self.keep] if self.keep else results)
        return [
            self._shortened(message) if index in old else message
            for index, message in enumerate(messages)
        ]

    def _is_whole(self, message: Message) -> bool:
        return message.role == "tool" and (
            bool(message.images) or len(message.text) > self._longest_shortened
        )

    @property
    def _longest_shortened(self) -> int:
        return self.head_chars + len(MARKER) + 20

    def _shortened(self, message: Message) -> Message:
        if not self._is_whole(message):
            return message
        cut = len(message.text) - self.head_chars
        if cut <= 0:
            return replace(message, images=())
        text = message.text[: self.head_chars] + MARKER.format(cut=cut)
        return replace(message, text=text, images=())


WITHHELD = (
    "[withheld: your provider refuses to read this result, for its length or for what it says."
    " Look in a way that shows less (a single element, a picture), or judge that it is blocked]"
)


def with_fewer_results(messages: Sequence[Message]) -> Iterator[tuple[list[Message], bool]]:
    """A refused conversation with less and less of what tools returned, until nothing is left.

    First, old results are cut to their heads; then the results of the last turn (if it had any) are
    withheld; then all. Beside each conversation: whether the last turn's results are withheld, so
    that the model is blind to them.
    """
    results = [index for index, message in enumerate(messages) if message.role == "tool"]
    if not results:
        return
    last = max(
        (index for index, message in enumerate(messages) if message.role == "assistant"), default=0
    )
    latest = {index for index in results if index > last}
    shorter = Pruning(keep=len(latest)).apply(messages)
    if shorter != list(messages):
        yield shorter, False
    if latest:
        yield [_withheld(m) if i in latest else m for i, m in enumerate(shorter)], True
    yield [_withheld(m) if i in results else m for i, m in enumerate(shorter)], True


def _withheld(message: Message) -> Message:
    return replace(message, text=WITHHELD, images=())
