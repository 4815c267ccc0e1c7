# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Apps that call a model: what they reach, what they never see, what they cannot do with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.config import AppModelConfig
from vibench_gym.core.errors import ConfigError
from vibench_gym.stack.app_model import (
    PORT,
    TOKEN,
    AppModelRelay,
    app_model_env,
    app_model_key,
)
from vibench_gym.stack.packages.http_wire import read_request
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Protocol

    from vibench_gym.stack.local.builder import LocalPreparedApp

    class Prepare(Protocol):
        """Of this folder's conftest."""

        async def __call__(
            self, name: str, *, log_path: Path | None = None, **settings: object
        ) -> LocalPreparedApp: ...


KEY = "sk-the-operators-own-4711"


@dataclass
class Model:
    """An endpoint that keeps what it is sent."""

    answer: bytes = b'{"choices": []}'
    status: int = 200
    heads: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    port: int = 0

    @contextlib.asynccontextmanager
    async def standing(self) -> AsyncIterator[None]:
        async with serving(self._connection) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.heads.append((request.method, request.target, dict(request.headers)))
            length = int(request.headers.get("content-length", "0"))
            self.bodies.append(await reader.readexactly(length))
            head = f"HTTP/1.1 {self.status} X\r\ncontent-type: application/json\r\n"
            head += f"set-cookie: a={KEY}\r\ncontent-length: {len(self.answer)}\r\n\r\n"
            writer.write(head.encode() + self.answer)
            await writer.drain()


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    made = Model()
    async with made.standing():
        yield made


@pytest.fixture
async def relay(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[AppModelRelay, int]]:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # it is not asked for this host
    config = AppModelConfig(
        api_key_env="APP_KEY", base_url=f"http://127.0.0.1:{model.port}/v1", max_requests=3
    )
    made = AppModelRelay(config, KEY)
    listener = socket.create_server(("127.0.0.1", 0))
    async with made.serving(listener):
        yield made, listener.getsockname()[1]


async def ask(port: int, head: str, body: bytes = b"") -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = f"{head}\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nx-evil: 1\r\n"
    length = f"content-length: {len(body)}\r\n" if body else ""
    writer.write(f"{lines}{length}\r\n".encode() + body)
    said = await reader.read()
    writer.close()
    return int(said.split(b" ", 2)[1]), said


async def test_a_call_goes_out_with_the_operators_key_and_nothing_of_it_comes_in(
    relay: tuple[AppModelRelay, int], model: Model
) -> None:
    made, port = relay
    body = json.dumps({"model": "any"}).encode()
    status, said = await ask(port, "POST /v1/chat/completions?a=1 HTTP/1.1", body)

    assert status == 200
    assert said.endswith(model.answer)
    ((method, target, headers),) = model.heads
    assert (method, target) == ("POST", "/v1/chat/completions?a=1")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "x-evil" not in headers
    assert model.bodies == [body]
    assert KEY.encode() not in said
    assert KEY not in repr(made)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("DELETE /v1/files/1 HTTP/1.1", 405),
        ("CONNECT elsewhere:443 HTTP/1.1", 405),
        ("GET http://elsewhere/v1/models HTTP/1.1", 404),
        ("GET /v1/../admin HTTP/1.1", 404),
        ("GET /v1//admin HTTP/1.1", 404),
        ("GET /admin HTTP/1.1", 404),
        ("GET /v1/models@elsewhere HTTP/1.1", 404),
        ("POST /v1/x HTTP/1.1\r\ntransfer-encoding: chunked", 411),
        ("POST /v1/x HTTP/1.1\r\ncontent-length: 99999999999", 413),
        ("POST /v1/x HTTP/1.1\r\ncontent-length: -1", 400),
    ],
)
async def test_what_is_no_call_of_the_api_is_refused(
    relay: tuple[AppModelRelay, int], model: Model, head: str, status: int
) -> None:
    assert (await ask(relay[1], head))[0] == status
    assert model.heads == []


async def test_calls_are_bounded(relay: tuple[AppModelRelay, int]) -> None:
    answers = [(await ask(relay[1], "GET /v1/models HTTP/1.1"))[0] for _ in range(4)]

    assert answers == [200, 200, 200, 429]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_not_quoted(
    relay: tuple[AppModelRelay, int], model: Model, status: int
) -> None:
    model.status, model.answer = status, f"Incorrect API key: {KEY}".encode()
    answered, said = await ask(relay[1], "GET /v1/models HTTP/1.1")

    assert answered == status
    assert KEY.encode() not in said


async def test_a_model_that_is_gone_is_told() -> None:
    config = AppModelConfig(api_key_env="APP_KEY", base_url="http://127.0.0.1:9/v1")
    listener = socket.create_server(("127.0.0.1", 0))
    async with AppModelRelay(config, KEY).serving(listener):
        status, said = await ask(listener.getsockname()[1], "GET /v1/models HTTP/1.1")

    assert status == 502
    assert b"not reachable" in said


@pytest.mark.parametrize("value", [None, "", "short", "sk-with\nnewline", "sk-schlüssel"])
def test_a_key_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("APP_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("APP_KEY", value)

    with pytest.raises(ConfigError, match="APP_KEY holds no key"):
        app_model_key(AppModelConfig(api_key_env="APP_KEY"))


def test_only_apps_that_are_given_a_model_are_told_of_one() -> None:
    assert app_model_env(None) == {}
    told = app_model_env(AppModelConfig(api_key_env="APP_KEY"))
    assert told["OPENAI_BASE_URL"] == f"http://127.0.0.1:{PORT}/v1"
    assert told["OPENAI_API_KEY"] == TOKEN


@pytest.mark.sandbox
@pytest.mark.postgres
async def test_an_app_calls_its_model_and_finds_no_key(
    prepare: Prepare, model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("APP_KEY", KEY)
    config = AppModelConfig(api_key_env="APP_KEY", base_url=f"http://127.0.0.1:{model.port}/v1")
    app = await prepare("counter", app_model=config, log_path=tmp_path / "setup.log")
    async with app.stack(log_path=tmp_path / "app.log") as stack:
        called = await stack.exec(
            'curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" "$OPENAI_BASE_URL/models"',
            timeout_s=30,
        )
        searched = await stack.exec(
            f"env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; "
            f"grep -rl --exclude-dir=proc -e {KEY[:12]} /app /home /tmp /etc 2>/dev/null",
            timeout_s=30,
        )

    assert (called.return_code, called.stdout) == (0, model.answer.decode()), called.stderr
    assert model.heads[0][2]["authorization"] == f"Bearer {KEY}"
    assert TOKEN in searched.stdout
    assert "4711" not in searched.stdout + called.stdout + called.stderr
    async with (await prepare("counter")).stack() as stack:
        nothing = await stack.exec("env | grep OPENAI", timeout_s=30)
    assert nothing.stdout == ""
