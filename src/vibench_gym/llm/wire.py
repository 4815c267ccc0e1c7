# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to and from the JSON of chat completions.

Decisions, each because some endpoint refuses the other way: pictures of tool results follow in a
user message of their own (images in the tool role are refused by many); arguments that could not
be read are sent back as `{}`; names of tools are cut to what the API allows.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import Completion, Message, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from vibench_gym.core.tool import ToolSpec

REPLAY_FINGERPRINT = "vibench-gym-replay"
"""`system_fingerprint` of our replay server: its models read the whole conversation each time."""

MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_ARGUMENT_CHARS = 1024 * 1024
MAX_RAW_CHARS = 2000
MAX_CALLS = 128


class BadAnswer(ValueError):
    """The endpoint answered with something that is no completion."""


def request_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as chat completions want it; reads picture files."""
    wire: list[dict[str, Any]] = []
    pictures: list[Path] = []
    for message in messages:
        if message.role != "tool" and pictures:
            wire.append(_pictures(pictures))
            pictures = []
        wire.append(_message(message))
        if message.role == "tool":
            pictures.extend(message.images)
    if pictures:
        wire.append(_pictures(pictures))
    return wire


def request_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The tools as chat completions want them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def _message(message: Message) -> dict[str, Any]:
    text = clean(message.text)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if message.role == "assistant":
        body: dict[str, Any] = {"role": "assistant", "content": text or None}
        if message.tool_calls:
            body["tool_calls"] = [_call(call) for call in message.tool_calls]
        elif body["content"] is None:
            body["content"] = ""
        return body
    if not message.images:
        return {"role": message.role, "content": text}
    parts = [{"type": "text", "text": text}] if text else []
    return {"role": message.role, "content": [*parts, *map(_picture, message.images)]}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = clean(json.dumps(dict(call.arguments or {}), ensure_ascii=False))
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "_"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def clean(text: str) -> str:
    """The text without lone surrogates: a page can show them, UTF-8 cannot carry them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _pictures(paths: Sequence[Path]) -> dict[str, Any]:
    names = ", ".join(path.name for path in paths)
    text = {"type": "text", "text": f"Pictures that the tools took: {names}"}
    return {"role": "user", "content": [text, *map(_picture, paths)]}


def _picture(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError:
        data = b""
    if not data or len(data) > MAX_IMAGE_BYTES:
        return {"type": "text", "text": f"[the picture {path.name} cannot be shown]"}
    kind = "jpeg" if data.startswith(b"\xff\xd8") else "png"
    encoded = base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{encoded}"}}


def read_completion(
    body: object, *, tools: Sequence[ToolSpec] = (), id_prefix: str = "call"
) -> Completion:
    """A completion from an endpoint's JSON.

    Raises:
        BadAnswer: it is none.
    """
    if not isinstance(body, dict):
        raise BadAnswer("the answer is not a JSON object")
    if body.get("error"):
        raise BadAnswer(f"the answer is an error: {error_text(body['error'])}")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise BadAnswer("the answer has no choices")
    optional = {tool.name for tool in tools if not tool.parameters.get("required")}
    return Completion(
        message=Message(
            "assistant",
            text_of(message.get("content")) or text_of(message.get("refusal")),
            tool_calls=tuple(read_calls(message.get("tool_calls"), id_prefix, optional)),
        ),
        finish_reason=str(choice.get("finish_reason") or "stop"),
        usage=_usage(body.get("usage")),
        needs_history=body.get("system_fingerprint") == REPLAY_FINGERPRINT,
    )


def read_calls(
    calls: object, id_prefix: str, no_arguments_needed: set[str] | None = None
) -> Iterator[ToolCall]:
    """Tool calls with ids that are there and unique; bad arguments become None."""
    seen: set[str] = set()
    for index, call in enumerate(calls[:MAX_CALLS] if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            continue
        call_id = str(call.get("id") or "")[:200]
        if not call_id or call_id in seen:
            call_id = f"{id_prefix}_{index + 1}"
        seen.add(call_id)
        name = str(function.get("name") or "")[:200]
        raw = function.get("arguments")
        if not raw and name in (no_arguments_needed or ()):
            raw = "{}"
        text = raw if isinstance(raw, str) else json.dumps(raw)
        yield ToolCall(call_id, name, read_arguments(text), text[:MAX_RAW_CHARS])


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call, None where the text is no JSON object."""
    if len(text) > MAX_ARGUMENT_CHARS:
        return None
    try:
        arguments = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def text_of(content: object) -> str:
    """The text of a message's content, which may be a text, a list of parts or nothing."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def error_text(error: object) -> str:
    """What an error object says, bounded."""
    if isinstance(error, dict):
        parts = (error.get("code"), error.get("type"), error.get("message"))
        error = ": ".join(str(part) for part in parts if part)
    return str(error)[:500]


def error_code(body: object) -> str:
    """The `code` of an error body, empty where there is none."""
    error = body.get("error", body) if isinstance(body, dict) else None
    return str(error.get("code") or "") if isinstance(error, dict) else ""


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(
        _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached)
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read_message(body: Mapping[str, Any], position: int) -> Message:
    """A message of a chat completions request, as the replay server gets it."""
    role = body.get("role")
    text = text_of(body.get("content"))
    if role == "tool":
        return Message("tool", text, tool_call_id=str(body.get("tool_call_id") or ""))
    if role == "assistant":
        calls = tuple(read_calls(body.get("tool_calls"), f"call_{position}"))
        return Message("assistant", text, tool_calls=calls)
    return Message("system" if role in {"system", "developer"} else "user", text)
