# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Text from the app under test is data: bounded, escaped, and scanned for words to the judge.

`as_data` and `quoted_lines` are the only ways of such text into a conversation.

An app may write instructions to whoever grades it into pages, labels, dialogs, logs and file
names. Nothing here decides a verdict: a hit becomes a flag in the plan's record, so that a reader
of a surprising score finds the place. The prompts tell the models that tool results are data.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from vibench_gym.core.shown_text import visible, without_unseen
from vibench_gym.grading.untrusted.chat_tokens import as_shown_on_page, without_chat_tokens
from vibench_gym.grading.untrusted.lookalikes import as_latin

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FLAGS: Final = 50
_EXCERPT_CHARS: Final = 120

_JUDGE: Final = (
    r"(?:grader|grading agent|judge|evaluator|qa (?:agent|tester|model)"
    r"|ai (?:agent|model|assistant)|language model|llm|seeder|seeding agent)"
)
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "override": (
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}",
        r"\b(?:previous|prior|above|earlier|preceding|your|all|test plan|system)\b[^.\n]{0,30}",
        r"\b(?:instructions?|prompts?|rules|messages|guidelines|plan|steps?|checks?)\b",
    ),
    "role": (
        r"\b(?:you are|you're|act as|as)\b[^.\n]{0,20}\b(?:the|a|an|our|this)\b\s+",
        rf"{_JUDGE}\b",
    ),
    "address": (
        r"\b(?:note|message|attention|notice|instructions?|dear|hello|hey)\b[^.\n]{0,12}",
        rf"\b{_JUDGE}\b",
    ),
    "verdict": (
        r"\b(?:mark|record|report|count|score|rate|grade|treat|consider|give|set)\b[^.\n]{0,60}",
        r"\b(?:as\s+)?(?:passed|passing|pass|successful|full (?:points|marks|score|credit))\b",
    ),
    "claim": (
        r"\b(?:all|every|each)\b[^.\n]{0,20}\b(?:steps?|tests?|checks?|verifications?)\b",
        r"[^.\n]{0,20}\b(?:pass(?:ed|es)?|succeeded|successful|verified)\b",
    ),
    "protocol": (
        r"\b(?:record_check|end_step|finish_seeding|give_up|test_plan|full_points",
        r"|end of (?:page|shell) data|evaluation-finished",
        r"|NEXT STEP:|ALL STEPS DONE|LOOK AGAIN)(?!\w)",
    ),
    "markup": (
        r"<\|?(?:im_start|im_end|system|assistant|endoftext)\|?>|\[/?INST\]|<</?SYS>>",
        r"|<[|\uff5c][^\s<>]{1,60}[|\uff5c]>|</?tool_(?:call|response)>|<(?:start|end)_of_turn>",
        r"|\bsystem (?:prompt|message|override)\b",
    ),
    "score": (r"\b(?:verdict|test result|step outcome)\b\s*[:=]\s*\S+",),
}
_FRAME: Final = re.compile(
    r"[\[\uff3b](?=\s*(?:end\s+of\s+\w+\s+data|older\s+result\s+shortened))", re.IGNORECASE
)
_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_PATTERNS: Final = {kind: re.compile("".join(p), re.IGNORECASE) for kind, p in _KINDS.items()}


def plain(text: str) -> str:
    """The text as an eye reads it: compatibility forms folded, invisible characters gone.

    However it was made safe to show before.
    """
    return unicodedata.normalize("NFKC", without_unseen(as_shown_on_page(text)))


def addresses_judge(text: str) -> tuple[str, ...]:
    """Passages that speak to the grader, as `kind: excerpt`, at most one of each kind."""
    readable = re.sub(r"\s+", " ", plain(text))
    readings = dict.fromkeys((readable, as_latin(readable)))
    found = []
    for kind, pattern in _PATTERNS.items():
        hits = ((match, reading) for reading in readings if (match := pattern.search(reading)))
        for match, reading in itertools.islice(hits, 1):
            start = max(0, match.start() - 10)
            found.append(f"{kind}: {reading[start : start + _EXCERPT_CHARS]!r}")
    return tuple(found)


def clip(text: str, limit: int) -> str:
    """At most `limit` characters: head and tail, with a marker that says what was cut."""
    if len(text) <= limit:
        return text
    half = max(0, (limit - 60) // 2)
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[... {cut} characters cut ...]\n{text[len(text) - half :]}"


def unframed(text: str) -> str:
    """App text that cannot pass for the end of its own frame (`[end of page data ...]`)."""
    return _FRAME.sub("(", text)


def as_data(text: str, limit: int) -> str:
    """What an app showed or printed, for a model to read: at most so many characters."""
    return clip(shown_to_model(text), limit)


def shown_to_model(text: str) -> str:
    """App text in which all is to be seen, and nothing is a frame of ours or a chat's token."""
    return without_chat_tokens(unframed(visible(text)))


def quoted_lines(text: str) -> str:
    """Text that came by way of an app, every line marked, so that none can pass for one of ours."""
    return "\n".join(f"> {shown_to_model(line)}" for line in _BREAK.split(unframed(text)))


def one_line(text: str, limit: int = 200) -> str:
    """The first line that says something, without control characters."""
    for line in text.splitlines():
        cleaned = "".join(c if c.isprintable() else " " for c in line).strip()
        if cleaned:
            return cleaned if len(cleaned) <= limit else f"{cleaned[: limit - 1]}…"
    return ""


class RecordFlags:
    """Flags of a plan's record: what its reader should know. Each is kept once; bounded."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}

    def add(self, flag: str) -> bool:
        """Note a flag; False if it was known already or there are too many."""
        if flag in self._seen or len(self._seen) >= MAX_FLAGS:
            return False
        self._seen[flag] = None
        return True

    def scan(self, text: str, where: str) -> tuple[str, ...]:
        """Flag what in `text` addresses the judge; only what is new is given back."""
        fresh = (f"judge_addressed in {where}: {hit}" for hit in addresses_judge(text))
        return tuple(flag for flag in fresh if self.add(flag))

    def all(self) -> tuple[str, ...]:
        """Every flag in the order it was raised."""
        return tuple(self._seen)
