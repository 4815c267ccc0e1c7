# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Rule 2: the plan's own text decides whether a failure ends the plan, not the model.

A claim "non-fatal" has to quote the step. The quote counts when every passage it touches either
carries `(non-fatal)` or words to go on in the same sentence, or stands in a list whose heading or
parent item carries the mark. `(fatal)` on a passage always wins. Where a quote occurs more than
once, every occurrence has to qualify: a claim that could mean a fatal check is not a claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BULLET = re.compile(r"(?:[-*+•–]|\(?[0-9]{1,3}[.)]|\(?[A-Za-z][.)])\s+")  # noqa: RUF001 - plans use the en dash as a bullet
_ENDS = tuple(".:;!?)]")
_NON_FATAL = re.compile(r"non[-\u2010\u2011\u2013 ]?fatal", re.IGNORECASE)
_MARK = re.compile(
    rf"[(\[][^()\[\]]{{0,200}}{_NON_FATAL.pattern}[^()\[\]]{{0,200}}[)\]]", re.IGNORECASE
)
_FATAL = re.compile(r"[(\[]\s*fatal\s*[)\]]", re.IGNORECASE)
_LEADING_MARK = re.compile(rf"(?:{_BULLET.pattern})?(?:{_MARK.pattern})", re.IGNORECASE)
_TRAILING_MARK = re.compile(rf"{_MARK.pattern}:?$", re.IGNORECASE)
# After a full stop the mark belongs to the sentence before it, after a semicolon to the next.
_SENTENCE_END = re.compile(
    rf"(?<=[.!?])[)\]\"'”]*\s+(?:[(\[]{_NON_FATAL.pattern}[)\]]\s*)?|(?<=;)\s+", re.IGNORECASE
)

_LITERAL = re.compile(r"`[^`]{0,200}`|\"[^\"]{0,200}\"|“[^”]{0,200}”")
_REFUSAL = re.compile(
    r"\b(?:do not|don['’]t|cannot|can['’]t|must not|should not|not be able to|unable to|never)"  # noqa: RUF001 - both apostrophes occur
    r"(?: \w+)? (?:continue|proceed|go on|carry on|move on)\b",
    re.IGNORECASE,
)
_GO_ON = re.compile(
    r"(?<!\bto )(?<!/)(?<!\bor )\b(?:continue|proceed|go on|carry on|move on|keep going"
    r"|skip(?! next turn))\b(?!/)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\bproceed(?: directly)? (?:in)?to (?!the (?:next|remaining|following|rest)\b"
    r"|(?:next|subsequent|remaining|later|following)\b|`?test_|step)",
    re.IGNORECASE,
)
_ONWARD = re.compile(
    r"(?<!\bto )\b(?:continue|proceed|go on|carry on|move on)(?: on)?(?: anyway|,? regardless"
    r"|(?: to| with| through| executing)? (?:the |this |these |all |any |other )*"
    r"(?:next|remaining|rest|remainder|subsequent|following|later|other|test|steps?"
    r"|verifications?|checks?)\b)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|where|even|still|anyway|regardless|otherwise|unless|fails?|failure|failed"
    r"|despite|cannot|missing|not)\b",
    re.IGNORECASE,
)
_RECOVERY = re.compile(
    r"\b(?:incorrectly|unexpectedly|fail(?:ed|ure)?|bug|defect)\b.*\b(?:continuing|proceeding)\b",
    re.IGNORECASE,
)
_NO_STOP = re.compile(
    r"\b(?:do(?:es)? not|don['’]t|doesn['’]t|should not|shouldn['’]t|must not|need not|never)"  # noqa: RUF001 - both apostrophes occur
    r"(?: (?:by itself|itself))? (?:stop|fail|block|abort|end|halt|terminate)"
    r"(?: (?:the|this|here|on|testing|rest)\b|[.,;)]|$)",
    re.IGNORECASE,
)
_MIN_QUOTE = 4
"""Letters and digits that a quote needs beside the mark: the bare mark names no check."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """One line, list item or paragraph of a step, its wrapped lines joined."""

    text: str
    indent: int
    bullet: bool
    governed: bool = False


def is_non_fatal(prose: str, quote: str) -> bool:
    """Whether the quote is a passage of the step's prose that makes a failure non-fatal."""
    wanted = _squeeze(quote)
    passages = _passages(prose)
    if not wanted or (not _names_something(wanted) and all(wanted != p.text for p in passages)):
        return False
    whole, spans = "", []
    for passage in passages:
        start = len(whole)
        whole += passage.text + " "
        spans.append((start, len(whole) - 1, passage))
    found = False
    position = whole.find(wanted)
    while position >= 0:
        end = position + len(wanted)
        for start, stop, passage in spans:
            if (
                start < end
                and position < stop
                and not _allows(passage, position - start, end - start)
            ):
                return False
        found = True
        position = whole.find(wanted, position + 1)
    return found


def says_non_fatal(sentence: str) -> bool:
    """Whether a sentence by itself carries the mark or says in words to go on."""
    if _FATAL.search(sentence):
        return False
    if _NON_FATAL.search(sentence):
        return True
    words = _REFUSAL.sub(" ", _LITERAL.sub(" x ", sentence))
    if any(pattern.search(words) for pattern in (_NO_STOP, _ONWARD, _RECOVERY)):
        return True
    words = _ELSEWHERE.sub(" ", words)
    return bool(_GO_ON.search(words) and _CONDITION.search(words))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _names_something(quote: str) -> bool:
    rest = _NON_FATAL.sub("", quote)
    return sum(character.isalnum() for character in rest) >= _MIN_QUOTE


def _allows(passage: _Passage, start: int, end: int) -> bool:
    """Whether the part of a passage from start to end may fail without ending the plan."""
    if _FATAL.search(passage.text):
        return False
    if passage.governed or _leads_with_mark(passage.text):
        return True
    touched = []
    position = 0
    for sentence in _sentences(passage.text):
        if position < end and start < position + len(sentence):
            touched.append(sentence)
        position += len(sentence)
    return any(says_non_fatal(sentence) for sentence in touched)


def _leads_with_mark(text: str) -> bool:
    return _LEADING_MARK.match(text) is not None


def _sentences(text: str) -> list[str]:
    """The sentences with the white space after them; a mark that follows one belongs to it."""
    cuts = [match.end() for match in _SENTENCE_END.finditer(text)]
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _passages(prose: str) -> list[_Passage]:
    """The step's passages, each knowing whether a heading or parent item marks it."""
    found: list[_Passage] = []
    governors: list[_Passage] = []
    for text, indent, bullet in _blocks(prose):
        governors = [g for g in governors if _governs(g, indent, bullet=bullet)]
        found.append(_Passage(text, indent, bullet, bool(governors)))
        if _heads(text, bullet=bullet):
            governors.append(found[-1])
    return found


def _heads(text: str, *, bullet: bool) -> bool:
    """Whether a passage marks what is listed below it."""
    if _FATAL.search(text):
        return False
    if bullet and (_leads_with_mark(text) or _TRAILING_MARK.search(text)):
        return True
    if not text.endswith(":"):
        return False
    return _MARK.search(text) is not None or _says_of_list(text)


def _says_of_list(heading: str) -> bool:
    return re.search(r"\b(?:are|is) non-?fatal\b", heading, re.IGNORECASE) is not None


def _governs(governor: _Passage, indent: int, *, bullet: bool) -> bool:
    if bullet and not governor.bullet:
        return indent >= governor.indent
    return indent > governor.indent


def _blocks(prose: str) -> list[tuple[str, int, bool]]:
    """Text, indent and whether it is a list item, wrapped lines joined."""
    blocks: list[tuple[str, int, bool]] = []
    joinable = False
    for line in prose.expandtabs(4).splitlines():
        text = _squeeze(line)
        if not text:
            joinable = False
            continue
        bullet = _BULLET.match(text) is not None
        indent = len(line) - len(line.lstrip())
        if joinable and not bullet and _continues(blocks[-1], indent):
            previous, indent, was_bullet = blocks[-1]
            blocks[-1] = (f"{previous} {text}", indent, was_bullet)
        else:
            blocks.append((text, indent, bullet))
        joinable = True
    return blocks


def _continues(block: tuple[str, int, bool], indent: int) -> bool:
    """Whether a line goes on with a passage: list items indent their wrapped lines."""
    text, block_indent, bullet = block
    return not text.endswith(_ENDS) and (not bullet or indent > block_indent)
