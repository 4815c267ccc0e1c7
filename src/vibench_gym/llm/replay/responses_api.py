# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The responses API as the replay server speaks it: requests in, bodies and events out.

The server keeps nothing, so `previous_response_id` is refused: clients send the whole input.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import Completion, Message, Usage
from vibench_gym.llm.replay.cassette import Request
from vibench_gym.llm.replay.chat_api import CREATED, BadRequest, arguments_of, pieces, read_tool
from vibench_gym.llm.wire import MAX_RAW_CHARS, BadAnswer, error_text, read_arguments, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def read_request(body: Mapping[str, Any]) -> Request:
    """A responses request.

    Raises:
        BadRequest: model or input are missing, of another kind, or refer to stored state.
    """
    model = body.get("model")
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(model, str) or not isinstance(items, list):
        raise BadRequest("`model` (a text) and `input` (a text or list) are needed")
    if body.get("previous_response_id"):
        raise BadRequest("`previous_response_id`: nothing is stored here, send the whole input")
    if not all(isinstance(item, dict) for item in items):
        raise BadRequest("each item of `input` is an object")
    instructions = body.get("instructions")
    messages = [Message("system", instructions)] if isinstance(instructions, str) else []
    for item in items:
        _add_item(messages, item)
    tools = body.get("tools") or []
    functions = (t for t in tools if isinstance(t, dict) and t.get("type") == "function")
    return Request(model, tuple(messages), tuple(map(read_tool, functions)))


def _add_item(messages: list[Message], item: Mapping[str, Any]) -> None:
    kind = item.get("type") or "message"
    if kind == "function_call":
        raw = str(item.get("arguments") or "")
        call_id, name = str(item.get("call_id") or ""), str(item.get("name") or "")
        call = ToolCall(call_id, name, read_arguments(raw), raw[:MAX_RAW_CHARS])
        last = messages[-1] if messages else None
        if last is not None and last.role == "assistant":
            # One turn's text and calls arrive as items of their own.
            messages[-1] = Message("assistant", last.text, tool_calls=(*last.tool_calls, call))
        else:
            messages.append(Message("assistant", tool_calls=(call,)))
    elif kind == "function_call_output":
        output = text_of(item.get("output"))
        messages.append(Message("tool", output, tool_call_id=str(item.get("call_id") or "")))
    elif kind == "message":
        text = text_of(item.get("content"))
        role = item.get("role")
        if role == "assistant":
            messages.append(Message("assistant", text))
        else:
            messages.append(Message("system" if role in {"system", "developer"} else "user", text))


def read_answer(body: object) -> Completion:
    """A completion from a real endpoint's response, for recording.

    Raises:
        BadAnswer: it is none.
    """
    if not isinstance(body, dict) or body.get("error"):
        message = error_text(body["error"]) if isinstance(body, dict) else "no JSON object"
        raise BadAnswer(f"the answer is an error: {message}")
    output = body.get("output")
    if not isinstance(output, list):
        raise BadAnswer("the answer has no output")
    messages: list[Message] = []
    for item in output:
        if isinstance(item, dict):
            _add_item(messages, {**item, "role": "assistant"})
    text = "\n".join(message.text for message in messages if message.text)
    calls = tuple(call for message in messages for call in message.tool_calls)
    usage: dict[str, Any] = body["usage"] if isinstance(body.get("usage"), dict) else {}
    incomplete = body.get("status") == "incomplete"
    finish = "length" if incomplete else "tool_calls" if calls else "stop"
    return Completion(
        Message("assistant", text, tool_calls=calls),
        finish,
        Usage(int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)),
    )


def body_of(completion: Completion, request: Request, answer_id: str) -> dict[str, Any]:
    """The whole answer as one body."""
    return _response(
        request, answer_id, _items(completion, answer_id), completion.usage, _status(completion)
    )


def _status(completion: Completion) -> str:
    return "incomplete" if completion.finish_reason == "length" else "completed"


def _response(
    request: Request,
    answer_id: str,
    output: list[dict[str, Any]],
    usage: Usage | None,
    status: str,
) -> dict[str, Any]:
    return {
        "id": f"resp_{answer_id}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": request.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [{"type": "function", "strict": None, **tool} for tool in request.tools],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None if usage is None else _usage(usage),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _items(completion: Completion, answer_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if completion.message.text:
        items.append(
            {
                "id": f"msg_{answer_id}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [_part(completion.message.text)],
            }
        )
    items.extend(
        {
            "id": f"fc_{answer_id}_{index}",
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": arguments_of(call),
            "status": "completed",
        }
        for index, call in enumerate(completion.message.tool_calls)
    )
    return items


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def events_of(completion: Completion, request: Request, answer_id: str) -> Iterator[dict[str, Any]]:
    """The same answer as a client sees it arrive; each event has its `type`."""
    items = _items(completion, answer_id)
    empty = _response(request, answer_id, [], None, "in_progress")
    whole = body_of(completion, request, answer_id)
    events = (
        {"type": "response.created", "response": empty},
        {"type": "response.in_progress", "response": empty},
        *(event for index, item in enumerate(items) for event in _item_events(index, item)),
        {"type": f"response.{whole['status']}", "response": whole},
    )
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    started = {**item, "status": "in_progress"}
    place = {"output_index": index, "item_id": item["id"]}
    if item["type"] == "message":
        part = item["content"][0]
        inner = {**place, "content_index": 0}
        yield _added(index, {**started, "content": []})
        yield {"type": "response.content_part.added", **inner, "part": _part("")}
        for piece in pieces(part["text"]):
            delta = {"delta": piece, "logprobs": []}
            yield {"type": "response.output_text.delta", **inner, **delta}
        done = {"text": part["text"], "logprobs": []}
        yield {"type": "response.output_text.done", **inner, **done}
        yield {"type": "response.content_part.done", **inner, "part": part}
    else:
        yield _added(index, {**started, "arguments": ""})
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, **done}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def sse(event: Mapping[str, Any]) -> str:
    """One server-sent event, with its type as the event's name where it has one."""
    name = event.get("type")
    data = f"data: {json.dumps(event)}\n\n"
    return f"event: {name}\n{data}" if isinstance(name, str) else data
