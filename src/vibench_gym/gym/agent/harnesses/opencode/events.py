# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads OpenCode's JSON events as Responses items.

The reader is tolerant on purpose: it skips kinds of events that it does not know, counts lines that
are no JSON (cut by a time limit, written by something else), and never raises. Every amount is
bounded, the number of lines too: a builder can write a transcript of any size and shape, and the
time and memory that reading takes are taken from other rollouts.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from nemo_gym.openai_utils import (
    NeMoGymFunctionCallOutput,
    NeMoGymResponseFunctionToolCall,
    NeMoGymResponseOutputMessage,
    NeMoGymResponseOutputText,
    NeMoGymResponseReasoningItem,
    NeMoGymSummary,
)

from vibench_gym.gym.agent.harnesses.base import ToolUse, Transcript
from vibench_gym.gym.box.call_usage import Usage

if TYPE_CHECKING:
    from nemo_gym.openai_utils import NeMoGymResponseOutputItem

MAX_LINES = 200_000
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_ITEMS = 20_000
MAX_TEXT_CHARS = 200_000
MAX_ERRORS = 20
MAX_SESSIONS = 256
MAX_TOKENS = 10**12
_CUT = "\n[... cut ...]\n"


def read_events(output: bytes) -> Transcript:
    """The transcript in OpenCode's standard output."""
    reader = _Reader()
    stream = io.BytesIO(output)  # lines one at a time: a list of them is many times their size
    for _ in range(MAX_LINES):
        line = stream.readline()
        if not line:
            break
        if line.strip():
            reader.take(line)
    reader.leave_out(output.count(b"\n", stream.tell()))
    return reader.transcript()


class _Reader:
    def __init__(self) -> None:
        self._items: list[NeMoGymResponseOutputItem] = []
        self._tools: dict[str, ToolUse] = {}
        self._tokens = dict.fromkeys(("input", "output", "reasoning", "read", "write"), 0)
        self._calls: set[str] = set()
        self._sessions: dict[str, None] = {}
        self._errors: list[str] = []
        self._reason = ""
        self._unreadable = 0

    def leave_out(self, lines: int) -> None:
        """Count lines that are not looked at."""
        self._unreadable += lines

    def take(self, line: bytes) -> None:
        """One line of output."""
        if len(line) > MAX_LINE_BYTES or not line.lstrip().startswith(b"{"):
            self._unreadable += 1
            return
        try:
            event: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            self._unreadable += 1
            return
        self._session(event.get("sessionID"))
        part = event.get("part")
        part = part if isinstance(part, dict) else {}
        match event.get("type"):
            case "text":
                self._text(part)
            case "reasoning":
                self._reasoning(part)
            case "tool_use":
                self._tool(part, _text(event.get("sessionID"), 128))
            case "step_start":
                self._calls.add(_text(part.get("messageID"), 200))
            case "step_finish":
                self._finish(part)
            case "error":
                self._error(event.get("error"))

    def transcript(self) -> Transcript:
        tokens = self._tokens
        cached = tokens["read"]
        return Transcript(
            items=tuple(self._items),
            tools=tuple(self._tools.values()),
            usage=Usage(
                input_tokens=tokens["input"] + cached + tokens["write"],
                output_tokens=tokens["output"] + tokens["reasoning"],
                reasoning_tokens=tokens["reasoning"],
                cached_tokens=cached,
            ),
            model_calls=len(self._calls),
            sessions=tuple(self._sessions),
            finished=self._reason in ("stop", "length"),
            length_limited=self._reason == "length",
            errors=tuple(self._errors),
            unreadable_lines=self._unreadable,
        )

    def _session(self, value: object) -> None:
        if isinstance(value, str) and 0 < len(value) <= 128 and len(self._sessions) < MAX_SESSIONS:  # noqa: PLR2004 (as the relay's)
            self._sessions.setdefault(value)

    def _add(self, item: NeMoGymResponseOutputItem) -> None:
        if len(self._items) < MAX_ITEMS:
            self._items.append(item)

    def _text(self, part: dict[str, Any]) -> None:
        text = _text(part.get("text"))
        if text.strip():
            content = [NeMoGymResponseOutputText(annotations=[], text=text)]
            self._add(NeMoGymResponseOutputMessage(id=self._id(part), content=content))

    def _reasoning(self, part: dict[str, Any]) -> None:
        text = _text(part.get("text"))
        if text.strip():
            summary = [NeMoGymSummary(type="summary_text", text=text)]
            self._add(NeMoGymResponseReasoningItem(id=self._id(part), summary=summary))

    def _tool(self, part: dict[str, Any], session: str) -> None:
        state = part.get("state")
        state = state if isinstance(state, dict) else {}
        call_id = _text(part.get("callID"), 200) or self._id(part)
        done = state.get("status") == "completed"
        arguments = _text(json.dumps(state.get("input") or {}))
        self._add(
            NeMoGymResponseFunctionToolCall(
                arguments=arguments,
                call_id=call_id,
                name=_text(part.get("tool"), 200),
                id=call_id,
                status="completed" if done else "incomplete",
            )
        )
        output = state.get("output") if state.get("output") is not None else state.get("error")
        self._add(
            NeMoGymFunctionCallOutput(
                call_id=call_id,
                output=_text("" if output is None else str(output)),
                status="completed" if done else "incomplete",
            )
        )
        self._time(part, state, session, call_id, done=done)
        metadata = state.get("metadata")
        if isinstance(metadata, dict):
            self._session(metadata.get("sessionId"))  # a sub-agent's conversation

    def _time(
        self, part: dict[str, Any], state: dict[str, Any], session: str, call_id: str, *, done: bool
    ) -> None:
        spent = state.get("time")
        spent = spent if isinstance(spent, dict) else {}
        started, completed = _seconds(spent.get("start")), _seconds(spent.get("end"))
        if started is None or completed is None or completed < started:
            started = completed = None
        if session and len(self._tools) < MAX_ITEMS:
            name = _text(part.get("tool"), 200)
            self._tools[call_id] = ToolUse(session, call_id, name, started, completed, done)

    def _finish(self, part: dict[str, Any]) -> None:
        self._calls.add(_text(part.get("messageID"), 200))
        self._reason = _text(part.get("reason"), 40)
        tokens = part.get("tokens")
        tokens = tokens if isinstance(tokens, dict) else {}
        cache = tokens.get("cache")
        cache = cache if isinstance(cache, dict) else {}
        for name in self._tokens:
            held = cache if name in ("read", "write") else tokens
            self._tokens[name] += _count(held.get(name))

    def _error(self, error: object) -> None:
        if len(self._errors) >= MAX_ERRORS:
            return
        data = error.get("data") if isinstance(error, dict) else None
        message = data.get("message") if isinstance(data, dict) else None
        name = error.get("name") if isinstance(error, dict) else None
        self._errors.append(_text(f"{name or 'error'}: {message or error}", 1000))

    def _id(self, part: dict[str, Any]) -> str:
        return _text(part.get("id"), 200) or f"item-{len(self._items)}"


def _text(value: object, limit: int = MAX_TEXT_CHARS) -> str:
    """A bounded text without what JSON and UTF-8 cannot carry further."""
    if not isinstance(value, str):
        return ""
    clean = value.encode("utf-8", "replace").decode("utf-8")
    if len(clean) <= limit:
        return clean
    return clean[: limit // 2] + _CUT + clean[-limit // 2 :]


def _seconds(value: object) -> float | None:
    """Milliseconds since the epoch as seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / 1000 if 0 <= value < MAX_TOKENS * 100 else None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(min(max(value, 0), MAX_TOKENS)) if value == value else 0  # noqa: PLR0124 (NaN)
