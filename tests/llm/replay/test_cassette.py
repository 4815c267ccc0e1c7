# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Cassettes answer what was recorded, or say that they cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import CassetteMiss, TaskInvalid
from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import Completion, Message, Usage
from vibench_gym.llm.replay import cassette as cassette_module
from vibench_gym.llm.replay.cassette import Cassette, Request
from vibench_gym.testing.fakes.model import calls

if TYPE_CHECKING:
    from pathlib import Path

ASK = Request("m", (Message("user", "hello"),), ({"name": "open", "parameters": {}},))


def said(text: str) -> Completion:
    return Completion(Message("assistant", text), "stop", Usage(10, 2, 4))


def test_gives_back_what_was_recorded(tmp_path: Path) -> None:
    made = calls(("write_file", {"path": "a", "content": "x" * 5000}))
    broken = ToolCall("t9", "open", None, '{"url')
    made = replace(made, tool_calls=(*made.tool_calls, broken))
    cassette = Cassette()
    cassette.add(ASK, Completion(made, "tool_calls", Usage(10, 2, 4)))
    path = tmp_path / "sub" / "a.cassette.json"
    cassette.save(path)
    loaded = Cassette.load(path)
    completion = loaded.answer(ASK)
    whole, malformed = completion.message.tool_calls
    assert whole.arguments == made.tool_calls[0].arguments
    assert malformed == broken
    assert completion.finish_reason == "tool_calls"
    assert completion.usage == Usage(10, 2, 4)
    assert completion.needs_history
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_was_asked_decides() -> None:
    cassette = Cassette()
    cassette.add(ASK, said("a"))
    other = replace(ASK, tools=())
    cassette.add(other, said("b"))
    assert cassette.answer(other).message.text == "b"
    assert cassette.answer(ASK).message.text == "a"
    assert cassette.answer(ASK).message.text == "a"  # a retry
    cassette.assert_all_used()


def test_the_same_question_twice_is_answered_in_order() -> None:
    cassette = Cassette()
    cassette.add(ASK, said("a"))
    cassette.add(ASK, said("b"))
    assert [cassette.answer(ASK).message.text for _ in range(3)] == ["a", "b", "b"]


def test_what_differs_between_runs_is_answered_in_order() -> None:
    """Times and refs in results differ; the course of the conversation does not."""
    cassette = Cassette()
    for text in ("a", "b"):
        cassette.add(replace(ASK, messages=(Message("user", f"at {text}"),)), said(text))
    later = replace(ASK, messages=(Message("user", "at noon"),))
    assert [cassette.answer(later).message.text for _ in range(2)] == ["a", "b"]
    with pytest.raises(CassetteMiss, match="0 of 2 unused"):
        cassette.answer(later)


@pytest.mark.parametrize(
    "request_",
    [
        replace(ASK, model="other"),
        replace(ASK, messages=(*ASK.messages, Message("user", "more"))),
        replace(ASK, messages=(calls(("open", {})),)),
    ],
)
def test_anything_else_is_a_miss(request_: Request) -> None:
    cassette = Cassette()
    cassette.add(ASK, said("a"))
    with pytest.raises(CassetteMiss, match="nothing recorded"):
        cassette.answer(request_)
    assert len(cassette.unused()) == 1
    with pytest.raises(AssertionError, match="1 entries were not used"):
        cassette.assert_all_used()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2}', '{"entries": [{}]}', '{"entries": [], "x": 1}']
)
def test_files_that_are_no_cassette(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(TaskInvalid) as caught:
        Cassette.load(path)
    assert caught.value.problems[0].file == str(path)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TaskInvalid, match="cannot read"):
        Cassette.load(tmp_path / "none.json")
    monkeypatch.setattr(cassette_module, "MAX_CASSETTE_BYTES", 1)
    Cassette().save(tmp_path / "big.json")
    with pytest.raises(TaskInvalid, match="too large"):
        Cassette.load(tmp_path / "big.json")


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "occupied").touch()
    with pytest.raises(OSError, match="folder"):
        Cassette().save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
