# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A cassette recorded from one server is played by another; nothing secret is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest

from support.faults.fault_server import Fault, FaultServer, ok
from vibench_gym.core.errors import ConfigError, GraderModelFailed
from vibench_gym.core.tool import ToolSpec
from vibench_gym.llm.base import Message
from vibench_gym.llm.openai import OpenAIChatModel
from vibench_gym.llm.replay import recording as recording_module
from vibench_gym.llm.replay.cassette import Cassette
from vibench_gym.llm.replay.recording import Recording
from vibench_gym.llm.replay.server import ReplayServer

if TYPE_CHECKING:
    from pathlib import Path

type Faults = Callable[..., FaultServer]

KEY = "sk-upstream-987654"
TOOLS = [ToolSpec("open", "Open.", {"type": "object", "required": ["url"]})]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", KEY)


async def ask(server: ReplayServer, text: str = "hello", **settings: Any) -> Any:
    model = OpenAIChatModel(server.model_config("m", **settings))
    try:
        return await model.complete([Message("user", text)], TOOLS)
    finally:
        await model.aclose()


async def test_records_and_plays(fault_server: Faults, tmp_path: Path) -> None:
    path = tmp_path / "m.cassette.json"
    call = {"id": "c1", "function": {"name": "open", "arguments": f'{{"url": "/{KEY}"}}'}}
    upstream = fault_server(ok(content=f"the key is {KEY}", tool_calls=[call]))
    recording = Recording(path, upstream.url, "UPSTREAM_KEY")
    async with ReplayServer(record=recording) as server:
        recorded = await ask(server)
    assert f"bearer {KEY}" in upstream.heads[0].lower()
    assert upstream.paths == ["/v1/chat/completions"]

    async with ReplayServer(cassettes={"m": path}) as server:
        played = await ask(server)
        server.cassettes["m"].assert_all_used()
    assert recorded.message.tool_calls[0].arguments == {"url": f"/{KEY}"}
    assert played.message.tool_calls[0].arguments == {"url": "/***"}
    assert played.usage.input_tokens == 100
    assert KEY not in path.read_text()
    assert "authorization" not in path.read_text().lower()

    # Recording again goes on where the cassette ends.
    async with ReplayServer(record=recording) as server:
        await ask(server, "again")
    assert len(Cassette.load(path).entries) == 2


async def test_records_responses_even_when_the_client_streams(
    fault_server: Faults, tmp_path: Path
) -> None:
    output = [
        {"type": "reasoning", "id": "r"},
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c1", "name": "open", "arguments": '{"url": "/"}'},
    ]
    body = {
        "output": output,
        "status": "completed",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    upstream = fault_server(Fault(body=json.dumps(body).encode()))
    path = tmp_path / "m.json"
    async with (
        ReplayServer(record=Recording(path, upstream.url, None)) as server,
        openai.AsyncOpenAI(
            base_url=server.base_url,
            api_key="x",
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
        ) as client,
        client.responses.stream(model="m", input="hello") as stream,
    ):
        final = await stream.get_final_response()
    assert final.output_text == "hi"
    assert "stream" not in upstream.requests[0]
    (entry,) = Cassette.load(path).entries
    assert (entry.text, entry.calls[0].name, entry.finish_reason) == ("hi", "open", "tool_calls")
    assert (entry.input_tokens, entry.output_tokens) == (5, 2)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault(401, f"bad key {KEY}".encode()), 401),
        (Fault(body=b"no json"), 502),
        (Fault(body=b'{"error": {"message": "busy"}}'), 502),
        (Fault(body=b"{}", cut=10), 502),
        (Fault(hang=True), 502),
    ],
    ids=["status", "no-json", "error", "cut", "hang"],
)
@pytest.mark.parametrize("api", ["chat/completions", "responses"])
async def test_failures_are_passed_on_and_not_recorded(
    fault_server: Faults, tmp_path: Path, fault: Fault, status: int, api: str
) -> None:
    upstream = fault_server(fault)
    path = tmp_path / "m.json"
    timeout_s = 0.2 if fault.hang else 30.0
    recording = Recording(path, upstream.url, "UPSTREAM_KEY", timeout_s)
    async with (
        ReplayServer(record=recording) as server,
        httpx.AsyncClient(trust_env=False, timeout=30) as client,
    ):
        body = {"model": "m", "messages": [], "input": "x"}
        response = await client.post(f"{server.base_url}/{api}", json=body)
    assert response.status_code == status
    assert response.json()["error"]["code"] == "upstream_failed"
    assert KEY not in response.text
    assert not path.exists()


async def test_endless_answers_are_not_recorded(
    fault_server: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_module, "MAX_ANSWER_BYTES", 100)
    upstream = fault_server(ok(content="x" * 1000))
    recording = Recording(tmp_path / "m.json", upstream.url, None)
    async with ReplayServer(record=recording) as server:
        with pytest.raises(GraderModelFailed, match="exceeds 100 bytes"):
            await ask(server, max_attempts=1)


def test_a_key_is_needed_to_record(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set NO_KEY"):
        Recording(tmp_path / "m.json", "http://x/v1", "NO_KEY")
    assert KEY not in repr(Recording(tmp_path / "m.json", "http://x/v1", "UPSTREAM_KEY"))
