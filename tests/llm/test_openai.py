# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The model client against endpoints that fail in every way seen in the field."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from support.faults.fault_server import Fault, FaultServer, ok
from vibench_gym.core.config import ModelConfig
from vibench_gym.core.errors import CassetteMiss, ConfigError, GraderModelFailed
from vibench_gym.core.tool import ToolSpec
from vibench_gym.llm import openai as openai_model
from vibench_gym.llm.base import Message
from vibench_gym.llm.openai import OpenAIChatModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

type Faults = Callable[..., FaultServer]

KEY = "sk-test-1234567890"
ASK = [Message("user", "hello")]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIBENCH_GYM_API_KEY", KEY)


class Waits:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def clock(self) -> float:
        return sum(self.slept)


@asynccontextmanager
async def model_of(
    server: FaultServer, waits: Waits | None = None, **settings: Any
) -> AsyncGenerator[OpenAIChatModel]:
    waits = waits or Waits()
    config = ModelConfig(name="m", base_url=server.url, **settings)
    model = OpenAIChatModel(config, sleep=waits.sleep, clock=waits.clock)
    try:
        yield model
    finally:
        await model.aclose()


async def test_a_good_answer(fault_server: Faults) -> None:
    server = fault_server(ok(content="hi"))
    async with model_of(server, temperature=0.5, max_output_tokens=9) as model:
        completion = await model.complete(ASK)
    assert completion.message == Message("assistant", "hi")
    usage = completion.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (100, 7, 60)
    assert usage.requests == 1
    assert not completion.needs_history
    request = server.requests[0]
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("m", 0.5, 9)
    assert request["messages"] == [{"role": "user", "content": "hello"}]
    assert "tools" not in request
    assert f"authorization: bearer {KEY}" in server.heads[0].lower()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_passing_failures_are_tried_again(fault_server: Faults, status: int) -> None:
    server = fault_server(Fault(status), Fault(status), ok(content="hi"))
    waits = Waits()
    async with model_of(server, waits) as model:
        completion = await model.complete(ASK)
    assert completion.usage.requests == 3
    assert waits.slept == [1.0, 2.0]
    assert completion.usage.seconds == 3.0


async def test_retry_after_is_kept(fault_server: Faults) -> None:
    server = fault_server(
        Fault(429, headers={"retry-after": "17"}),
        Fault(503, headers={"retry-after": formatdate(0, usegmt=True)}),
        Fault(503, headers={"retry-after": "soon"}),
        ok(content="hi"),
    )
    waits = Waits()
    async with model_of(server, waits) as model:
        await model.complete(ASK)
    assert waits.slept == [17.0, 0.0, 4.0]


async def test_a_wait_beyond_the_budget_is_not_begun(fault_server: Faults) -> None:
    server = fault_server(Fault(429, headers={"retry-after": "301"}))
    waits = Waits()
    async with model_of(server, waits) as model:
        with pytest.raises(GraderModelFailed, match=r"HTTP 429.*1 attempt"):
            await model.complete(ASK)
    assert waits.slept == []


async def test_gives_up_with_the_cause(fault_server: Faults) -> None:
    body = json.dumps({"error": {"message": "the engine is overloaded", "code": "busy"}}).encode()
    server = fault_server(Fault(503, body))
    async with model_of(server, max_attempts=3) as model:
        with pytest.raises(GraderModelFailed, match=r"busy: the engine is overloaded .3 attempts"):
            await model.complete(ASK)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "fault",
    [
        Fault(hang=True),
        Fault(body=b'{"choices": [', cut=100),
        Fault(body=b"<html>proxy error</html>"),
        Fault(body=b"[]"),
        Fault(body=b'{"choices": []}'),
        Fault(body=b'{"choices": [{"index": 0}]}'),
        Fault(body=b'{"error": {"message": "upstream timed out"}}'),
        Fault(body=b"[" * 200_000),
    ],
    ids=["hang", "truncated", "html", "list", "no-choice", "no-message", "error", "nested"],
)
async def test_answers_that_are_none_are_tried_again(fault_server: Faults, fault: Fault) -> None:
    server = fault_server(fault, ok(content="hi"))
    async with model_of(server, timeout_s=0.3 if fault.hang else 30.0) as model:
        completion = await model.complete(ASK)
    assert completion.message.text == "hi"
    assert completion.usage.requests == 2


async def test_a_hang_for_good(fault_server: Faults) -> None:
    server = fault_server(Fault(hang=True))
    async with model_of(server, timeout_s=0.1, max_attempts=2) as model:
        with pytest.raises(GraderModelFailed, match=r"no answer within 0\.1 s"):
            await model.complete(ASK)


async def test_an_endless_answer_is_cut(
    fault_server: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_model, "MAX_RESPONSE_BYTES", 1000)
    server = fault_server(ok(content="x" * 5000))
    async with model_of(server, max_attempts=1) as model:
        with pytest.raises(GraderModelFailed, match="exceeds 1000 bytes"):
            await model.complete(ASK)


async def test_nobody_listens() -> None:
    waits = Waits()
    async with model_of(FaultServer(url="http://127.0.0.1:9/v1"), waits, max_attempts=2) as model:
        with pytest.raises(GraderModelFailed, match="no connection"):
            await model.complete(ASK)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_hopeless_failures_are_not_repeated(fault_server: Faults, status: int) -> None:
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    server = fault_server(Fault(status, said))
    async with model_of(server) as model:
        with pytest.raises(GraderModelFailed, match=f"HTTP {status}") as caught:
            await model.complete(ASK)
    assert len(server.requests) == 1
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown
    assert ("$VIBENCH_GYM_API_KEY" in shown) is (status in {401, 403})


async def test_no_quota_left_is_hopeless(fault_server: Faults) -> None:
    body = json.dumps({"error": {"message": "pay", "code": "insufficient_quota"}}).encode()
    server = fault_server(Fault(429, body))
    async with model_of(server) as model:
        with pytest.raises(GraderModelFailed, match="insufficient_quota"):
            await model.complete(ASK)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [200, 404, 409])
async def test_a_cassette_miss_is_the_operators(fault_server: Faults, status: int) -> None:
    body = json.dumps({"error": {"message": "nothing recorded", "code": "cassette_miss"}}).encode()
    server = fault_server(Fault(status, body))
    async with model_of(server) as model:
        with pytest.raises(CassetteMiss, match="nothing recorded"):
            await model.complete(ASK)
    assert len(server.requests) == 1


async def test_the_output_limit_goes_by_the_name_that_is_known(fault_server: Faults) -> None:
    error = {"message": "Unsupported parameter", "param": "max_tokens", "code": "unsupported"}
    server = fault_server(Fault(400, json.dumps({"error": error}).encode()), ok(content="hi"))
    async with model_of(server) as model:
        await model.complete(ASK)
        await model.complete(ASK)
    assert "max_tokens" in server.requests[0]
    assert [("max_completion_tokens" in request) for request in server.requests] == [
        False,
        True,
        True,
    ]


async def test_malformed_arguments_are_kept_raw(fault_server: Faults) -> None:
    made = [
        {"id": "a", "function": {"name": "f", "arguments": '{"x": 1'}},
        {"id": "a", "function": {"name": "f", "arguments": '{"x": NaN}'}},
        {"function": {"name": "f", "arguments": "[1]"}},
        {"id": "d", "function": {"name": "f", "arguments": {"x": 1}}},
        {"id": "e", "function": {"name": "none", "arguments": ""}},
        {"id": "f", "function": {"name": "f", "arguments": ""}},
        {"id": "g", "function": {"name": "f", "arguments": "{" + "x" * 9000}},
        {"id": "h"},
        "what",
    ]
    tools = [
        ToolSpec("f", "", {"type": "object", "required": ["x"]}),
        ToolSpec("none", "", {"type": "object"}),
    ]
    server = fault_server(ok(content=None, tool_calls=made))
    async with model_of(server) as model:
        calls = (await model.complete(ASK, tools)).message.tool_calls
    assert [call.arguments for call in calls] == [None, None, None, {"x": 1}, {}, None, None]
    assert calls[0].raw_arguments == '{"x": 1'
    assert len(calls[6].raw_arguments) == 2000
    assert len({call.id for call in calls}) == len(calls)
    assert server.requests[0]["tools"][0]["function"]["name"] == "f"


async def test_the_key_is_nowhere(
    fault_server: Faults, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another-endpoint")
    caplog.set_level(logging.DEBUG)
    server = fault_server(Fault(500, KEY.encode()))
    async with model_of(server, max_attempts=2) as model:
        assert KEY not in repr(model)
        with pytest.raises(GraderModelFailed) as caught:
            await model.complete(ASK)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert KEY not in caplog.text
    assert "org-of-another-endpoint" not in server.heads[0]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://api.example.com/v1", "set the environment variable NO_KEY"),
        ("ftp://x/v1", "is not an http"),
        ("nonsense", "is not an http"),
        ("https://user:secret@api.example.com/v1", "must not hold credentials"),
    ],
)
def test_what_is_refused_before_anything_is_sent(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        OpenAIChatModel(ModelConfig(name="m", base_url=url, api_key_env="NO_KEY"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_a_server_of_ours_needs_no_key(host: str) -> None:
    config = ModelConfig(name="m", base_url=f"http://{host}:1/v1", api_key_env="NO_KEY")
    model = OpenAIChatModel(config)
    assert model.name == "m"
    await model.aclose()
