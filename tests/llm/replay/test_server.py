# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The replay server as the real SDK sees it, on both APIs, whole and streamed."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest

from vibench_gym.core.errors import CassetteMiss, ConfigError, TaskInvalid
from vibench_gym.grading.model_sources import SCRIPT_TOOLS
from vibench_gym.llm.base import Completion, Message, Usage
from vibench_gym.llm.openai import OpenAIChatModel
from vibench_gym.llm.replay import server as server_module
from vibench_gym.llm.replay.cassette import Cassette, Request
from vibench_gym.llm.replay.recording import Recording
from vibench_gym.llm.replay.script.loader import parse_script
from vibench_gym.llm.replay.server import ReplayServer
from vibench_gym.testing.fakes.model import calls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

SCRIPT = """
role: qa
steps:
  - name: test_a
    script:
      - fill: {ref: 'textbox "Name"', text: 'a long text, so that it comes in several pieces, é'}
      - check: x
        see: [x]
"""
SEEDING = "role: seed\nsteps: [{name: seed, script: [{shell: {command: 'echo \"é\" && true'}}]}]"
USER: Any = {"role": "user", "content": "Today: 2026-01-31"}
TOOLS: Any = [{"type": "function", "function": {"name": "shell", "parameters": {}}}]


@asynccontextmanager
async def sdk(server: ReplayServer) -> AsyncGenerator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=server.base_url,
        api_key="x",
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
    ) as client:
        yield client


def seeding() -> ReplayServer:
    return ReplayServer({"seed": parse_script(SEEDING, SCRIPT_TOOLS)}, {"talk": talk()})


def talk() -> Cassette:
    """Answers with text and a call at once."""
    text = "Let me open the page and see what is there: 😀 é."
    message = Message("assistant", text, tool_calls=calls(("open", {"url": "/é"})).tool_calls)
    cassette = Cassette()
    cassette.add(
        Request("talk", (Message("user", "hi"),)),
        Completion(message, "tool_calls", Usage(11, 5, 3)),
    )
    return cassette


async def test_lists_its_models() -> None:
    async with seeding() as server, sdk(server) as client:
        assert [model.id async for model in client.models.list()] == ["seed", "talk"]


async def test_chat_whole() -> None:
    async with seeding() as server, sdk(server) as client:
        answer = await client.chat.completions.create(model="seed", messages=[USER], tools=TOOLS)
        again = await client.chat.completions.create(model="seed", messages=[USER], tools=TOOLS)
    assert answer == again
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"command": 'echo "é" && true'}
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_chat_streamed_says_the_same() -> None:
    async with seeding() as server, sdk(server) as client:
        whole = await client.chat.completions.create(
            model="talk", messages=[{"role": "user", "content": "hi"}]
        )
        async with client.chat.completions.stream(
            model="talk",
            messages=[{"role": "user", "content": "hi"}],
            stream_options={"include_usage": True},
        ) as stream:
            kinds = [event.type async for event in stream]
            final = await stream.get_final_completion()
    assert kinds.count("content.delta") > 1
    message = final.choices[0].message
    assert message.content == whole.choices[0].message.content
    (call,) = message.tool_calls or []
    assert json.loads(call.function.arguments) == {"url": "/é"}
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage == whole.usage


async def test_usage_is_streamed_only_when_asked_for() -> None:
    async with seeding() as server, sdk(server) as client:
        chunks = [
            chunk
            async for chunk in await client.chat.completions.create(
                model="seed", messages=[USER], stream=True
            )
        ]
    assert all(chunk.usage is None for chunk in chunks)
    assert all(chunk.choices for chunk in chunks)


async def test_responses_whole_and_a_conversation() -> None:
    async with seeding() as server, sdk(server) as client:
        first = await client.responses.create(
            model="seed",
            instructions="seed it",
            input="Today: 2026-01-31",
            tools=[{"type": "function", "name": "shell", "parameters": {}, "strict": None}],
        )
        (call,) = first.output
        assert call.type == "function_call"
        history: Any = [
            USER,
            {"type": "reasoning", "summary": []},
            call.model_dump(),
            {"type": "function_call_output", "call_id": call.call_id, "output": "Result: ok"},
        ]
        second = await client.responses.create(model="seed", input=history)
        (ended,) = second.output
        assert ended.type == "function_call"
        assert ended.name == "finish_seeding"
        history += [
            ended.model_dump(),
            {
                "type": "function_call_output",
                "call_id": ended.call_id,
                "output": [{"type": "input_text", "text": "done"}],
            },
        ]
        third = await client.responses.create(model="seed", input=history)
    assert third.output_text == "Done."
    assert third.usage is not None
    assert third.usage.input_tokens > 0


async def test_responses_streamed_say_the_same() -> None:
    async with seeding() as server, sdk(server) as client:
        whole = await client.responses.create(model="talk", input="hi")
        async with client.responses.stream(model="talk", input="hi") as stream:
            events = [event async for event in stream]
            final = await stream.get_final_response()
    assert [
        item.model_dump(exclude={"parsed", "parsed_arguments", "content"}) for item in final.output
    ] == [
        item.model_dump(exclude={"parsed", "parsed_arguments", "content"}) for item in whole.output
    ]
    assert final.output_text == whole.output_text
    assert final.usage == whole.usage
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_text.delta") > 1
    assert "response.function_call_arguments.done" in kinds
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_an_answer_that_was_cut_off() -> None:
    cassette = Cassette()
    cassette.add(
        Request("m", (Message("user", "hi"),)), Completion(Message("assistant", "So"), "length")
    )
    async with ReplayServer(cassettes={"m": cassette}) as server, sdk(server) as client:
        answer = await client.responses.create(model="m", input="hi")
        events = [
            event.type
            async for event in await client.responses.create(model="m", input="hi", stream=True)
        ]
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert events[-1] == "response.incomplete"


async def test_lone_surrogates_pass_through() -> None:
    odd = {"role": "user", "content": "Today: 2026-01-31 \ud800"}
    async with (
        seeding() as server,
        httpx.AsyncClient(trust_env=False, base_url=server.base_url) as client,
    ):
        body = json.dumps({"model": "seed", "messages": [odd]})
        assert (await client.post("chat/completions", content=body)).status_code == 200
        body = json.dumps({"model": "\udfff", "messages": [odd]})
        assert (await client.post("chat/completions", content=body)).status_code == 404


async def test_misses_reach_the_operator() -> None:
    async with ReplayServer({"qa": parse_script(SCRIPT, SCRIPT_TOOLS)}) as server:
        for name, messages, message in (
            ("other", [Message("user", "x")], "no script or cassette for 'other'"),
            (
                "qa",
                [
                    Message("user", "x"),
                    calls(("open", {})),
                    Message("tool", "r", tool_call_id="t1c1"),
                ],
                "the conversation has open",
            ),
        ):
            model = OpenAIChatModel(server.model_config(name))
            with pytest.raises(CassetteMiss, match=message):
                await model.complete(messages)
            await model.aclose()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("chat/completions", b"", 400),
        ("chat/completions", b"[]", 400),
        ("chat/completions", b'{"model": "m"}', 400),
        ("chat/completions", b'{"model": "m", "messages": [1]}', 400),
        ("responses", b'{"model": "m"}', 400),
        ("responses", b'{"model": "m", "input": [1]}', 400),
        ("responses", b'{"model": "m", "input": "x", "previous_response_id": "r"}', 400),
        ("responses", b'{"model": "m", "input": "x"}', 404),
        ("chat/completions", b"[" * 100_000, 400),
        ("chat/completions", b"x" * 200_001, 413),
        ("other", b"{}", 404),
    ],
)
async def test_bad_requests(
    path: str, body: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "MAX_REQUEST_BYTES", 200_000)
    async with (
        ReplayServer() as server,
        httpx.AsyncClient(trust_env=False, base_url=server.base_url) as client,
    ):
        response = await client.post(path, content=body)
    assert response.status_code == status


def test_a_name_is_served_once() -> None:
    script = parse_script(SCRIPT, SCRIPT_TOOLS)
    with pytest.raises(ConfigError, match="'m'"):
        ReplayServer({"m": script}, {"m": Cassette()})


async def test_a_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text("no cassette")
    before = asyncio.all_tasks()
    server = ReplayServer(record=Recording(path, "http://127.0.0.1:9/v1", None))
    with pytest.raises(TaskInvalid):
        await server.__aenter__()
    assert asyncio.all_tasks() == before
    path.unlink()
    async with server:  # and can be tried again
        assert server.base_url


async def test_leaves_nothing_behind() -> None:
    handler = signal.getsignal(signal.SIGTERM)
    before = asyncio.all_tasks()
    async with seeding() as server, sdk(server) as client:
        assert signal.getsignal(signal.SIGTERM) is handler
        port = int(server.base_url.rsplit(":", 1)[1].split("/")[0])
        await client.chat.completions.create(model="seed", messages=[USER])
    assert asyncio.all_tasks() == before
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.base_url
    with pytest.raises(OSError, match=str(port)):
        await asyncio.open_connection("127.0.0.1", port)


async def test_stops_when_its_user_is_cancelled() -> None:
    before = asyncio.all_tasks()
    started = asyncio.Event()

    async def use() -> None:
        async with seeding():
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(use())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
