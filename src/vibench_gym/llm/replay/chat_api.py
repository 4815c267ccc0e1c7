# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The chat completions API as the replay server speaks it: requests in, bodies and chunks out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vibench_gym.llm.replay.cassette import Request
from vibench_gym.llm.wire import REPLAY_FINGERPRINT, read_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vibench_gym.core.tool import ToolCall
    from vibench_gym.llm.base import Completion, Usage

CREATED = 1_767_225_600
"""A fixed `created`: the same question gets the same answer, byte for byte."""
_PIECE_CHARS = 24


class BadRequest(ValueError):
    """A request that no client of this API would send."""


def read_request(body: Mapping[str, Any]) -> Request:
    """A chat completions request.

    Raises:
        BadRequest: model or messages are missing or of another kind.
    """
    model = body.get("model")
    messages = body.get("messages")
    if not isinstance(model, str) or not isinstance(messages, list):
        raise BadRequest("`model` (a text) and `messages` (a list) are needed")
    if not all(isinstance(message, dict) for message in messages):
        raise BadRequest("each of `messages` is an object")
    tools = body.get("tools") or []
    functions = (tool.get("function") for tool in tools if isinstance(tool, dict))
    return Request(
        model,
        tuple(read_message(message, index) for index, message in enumerate(messages)),
        tuple(read_tool(function) for function in functions if isinstance(function, dict)),
    )


def read_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """What identifies a tool, the same for both APIs."""
    return {name: function.get(name) for name in ("name", "description", "parameters")}


def body_of(completion: Completion, request: Request, answer_id: str) -> dict[str, Any]:
    """The whole answer as one body."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": completion.message.text or None,
        "refusal": None,
    }
    if completion.message.tool_calls:
        message["tool_calls"] = [_call(call) for call in completion.message.tool_calls]
    return {
        "id": f"chatcmpl-{answer_id}",
        "object": "chat.completion",
        "created": CREATED,
        "model": request.model,
        "system_fingerprint": REPLAY_FINGERPRINT,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": completion.finish_reason,
            }
        ],
        "usage": _usage(completion.usage),
    }


def chunks_of(
    completion: Completion, request: Request, answer_id: str, *, include_usage: bool
) -> Iterator[dict[str, Any]]:
    """The same answer as a client sees it arrive."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{answer_id}",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": request.model,
            "system_fingerprint": REPLAY_FINGERPRINT,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
            **({"usage": None} if include_usage else {}),
        }

    yield chunk({"role": "assistant", "content": "" if completion.message.text else None})
    for piece in pieces(completion.message.text):
        yield chunk({"content": piece})
    for index, call in enumerate(completion.message.tool_calls):
        start = _call(call)
        start["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{"index": index, **start}]})
        for piece in pieces(arguments_of(call)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, completion.finish_reason)
    if include_usage:
        yield {**chunk({}), "choices": [], "usage": _usage(completion.usage)}


def pieces(text: str) -> Iterator[str]:
    """The text in the small parts in which endpoints stream."""
    for start in range(0, len(text), _PIECE_CHARS):
        yield text[start : start + _PIECE_CHARS]


def arguments_of(call: ToolCall) -> str:
    """The call's arguments as the model wrote them."""
    if call.arguments is None:
        return call.raw_arguments
    return json.dumps(dict(call.arguments), ensure_ascii=False)


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_of(call)},
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
