# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Messages become JSON that endpoints accept, whatever a page or a model put into them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import Message
from vibench_gym.llm.wire import MAX_ARGUMENT_CHARS, read_arguments, request_messages, text_of
from vibench_gym.testing.contracts.model import tiny_png

if TYPE_CHECKING:
    from pathlib import Path


def test_pictures_of_tools_follow_in_a_user_message(tmp_path: Path) -> None:
    shot = tmp_path / "shot-0001.png"
    shot.write_bytes(tiny_png())
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(b"\xff\xd8\xff")
    wire = request_messages(
        [
            Message("user", "look", (photo,)),
            Message("assistant", tool_calls=(ToolCall("1", "a", {}), ToolCall("2", "b", {}))),
            Message("tool", "one", (shot,), tool_call_id="1"),
            Message("tool", "two", (tmp_path / "gone.png",), tool_call_id="2"),
        ]
    )
    assert [message["role"] for message in wire] == ["user", "assistant", "tool", "tool", "user"]
    assert wire[0]["content"][1]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    text, picture, missing = wire[4]["content"]
    assert "shot-0001.png, gone.png" in text["text"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert "cannot be shown" in missing["text"]
    again = request_messages(
        [Message("tool", "x", (shot,), tool_call_id="1"), Message("user", "y")]
    )
    assert [message["role"] for message in again] == ["tool", "user", "user"]


def test_history_stays_clean() -> None:
    odd = ToolCall("1", "no such tool!" + "x" * 99, None, '{"a')
    (message,) = request_messages([Message("assistant", tool_calls=(odd,))])
    function = message["tool_calls"][0]["function"]
    assert function["arguments"] == "{}"
    assert function["name"].startswith("no_such_tool_x")
    assert len(function["name"]) == 64
    assert message["content"] is None
    assert request_messages([Message("assistant")]) == [{"role": "assistant", "content": ""}]


def test_lone_surrogates_do_not_break_a_request() -> None:
    """A page can show them; a request cannot carry them."""
    wire = request_messages(
        [
            Message("user", "a\ud800b"),
            Message("assistant", "c\udfff", tool_calls=(ToolCall("1", "f", {"x": "\ud800"}),)),
        ]
    )
    json.dumps(wire, ensure_ascii=False).encode()


def test_arguments_are_read_strictly() -> None:
    assert read_arguments('{"a": 1}') == {"a": 1}
    for text in ("", "1", "null", "[]", "{'a': 1}", '{"a": Infinity}', '{"a": 1} x', "[" * 9999):
        assert read_arguments(text) is None
    assert read_arguments(json.dumps({"a": "x" * MAX_ARGUMENT_CHARS})) is None


def test_text_of_parts() -> None:
    assert (
        text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": "c"}])
        == "a\nc"
    )
    assert text_of(7) == ""
