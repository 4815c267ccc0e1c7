# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that stands in for a model's endpoint, from scripts, cassettes or by recording.

It runs as a task of the running event loop on a loopback port and installs no signal handlers, so
that a test, the demo or a harness in another process can use it.
Same request, same answer, byte for byte; the one exception is a cassette that answers in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from vibench_gym.core.config import ModelConfig
from vibench_gym.core.errors import CassetteMiss, ConfigError
from vibench_gym.llm.openai import CASSETTE_MISS
from vibench_gym.llm.replay import chat_api, responses_api
from vibench_gym.llm.replay.cassette import Cassette
from vibench_gym.llm.replay.recording import Recorder, Recording, UpstreamFailed
from vibench_gym.llm.replay.script.answer import play

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from types import TracebackType

    from starlette.requests import Request as HttpRequest

    from vibench_gym.llm.base import Completion
    from vibench_gym.llm.replay.cassette import Request
    from vibench_gym.llm.replay.recording import Api
    from vibench_gym.llm.replay.script.items import Script

MAX_REQUEST_BYTES = 128 * 1024 * 1024
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 5.0


class _Json(JSONResponse):
    """JSON in ASCII: what a page shows may hold characters that UTF-8 cannot carry."""

    def render(self, content: object) -> bytes:
        return json.dumps(content).encode()


class _Refused(Exception):
    """An answer that is an error, in the API's form."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    def response(self) -> Response:
        kind = "invalid_request_error" if self.status < 500 else "server_error"  # noqa: PLR2004
        error = {"message": str(self), "type": kind, "param": None, "code": self.code}
        return _Json({"error": error}, status_code=self.status)


async def _refusal(_http: HttpRequest, refused: Exception) -> Response:
    return cast("_Refused", refused).response()


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, because this server does not own the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ReplayServer:
    """Serves models by name; an async context manager.

    Args:
        scripts: loaded scripts by model name.
        cassettes: cassettes, or the files they are in, by model name.
        record: real endpoint that answers for every other model, and where to keep its answers.

    Raises:
        ConfigError: a model is named twice.
        TaskInvalid: a cassette breaks its format.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script] | None = None,
        cassettes: Mapping[str, Path | Cassette] | None = None,
        *,
        record: Recording | None = None,
    ) -> None:
        self._scripts = dict(scripts or {})
        self.cassettes: dict[str, Cassette] = {}
        for name, cassette in (cassettes or {}).items():
            if name in self._scripts:
                raise ConfigError(f"two replayed models are named {name!r}")
            self.cassettes[name] = (
                Cassette.load(cassette) if isinstance(cassette, Path) else cassette
            )
        self._recording = record
        self._recorder: Recorder | None = None
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """Where clients find the API, `/v1` included; only while serving."""
        if not self._port:
            raise RuntimeError("the replay server is not running")
        return f"http://127.0.0.1:{self._port}/v1"

    def model_config(self, name: str, **settings: Any) -> ModelConfig:
        """The settings with which OpenAIChatModel talks to one of these models."""
        return ModelConfig(name=name, base_url=self.base_url, **settings)

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        # asyncio forgets this for sockets it did not make; answers would wait 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._recorder = self._recording.recorder() if self._recording else None
            config = uvicorn.Config(
                self._app(),
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=1,
            )
            self._server = _Server(config)
            self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
            started = asyncio.ensure_future(self._server.ready.wait())
            await asyncio.wait(
                {started, self._serving},
                timeout=_START_TIMEOUT_S,
                return_when=asyncio.FIRST_COMPLETED,
            )
            started.cancel()
            if not self._server.ready.is_set():
                await self._serving
        except BaseException:
            listener.close()
            await self._stop()
            raise
        self._port = listener.getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        stopping = asyncio.ensure_future(self._stop())
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            await stopping
            raise

    async def _stop(self) -> None:
        self._port = 0
        serving, self._serving = self._serving, None
        if serving is not None and self._server is not None:
            self._server.should_exit = True
            done, _ = await asyncio.wait({serving}, timeout=_STOP_TIMEOUT_S)
            if not done:
                self._server.force_exit = True
                serving.cancel()
                await asyncio.wait({serving}, timeout=_STOP_TIMEOUT_S)
        if self._recorder is not None:
            await self._recorder.__aexit__(None, None, None)
            self._recorder = None

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", self._list_models, methods=["GET"]),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/responses", self._responses, methods=["POST"]),
            ],
            exception_handlers={_Refused: _refusal},
        )

    async def _list_models(self, _http: HttpRequest) -> Response:
        names = sorted([*self._scripts, *self.cassettes])
        data = [
            {"id": n, "object": "model", "created": chat_api.CREATED, "owned_by": "replay"}
            for n in names
        ]
        return _Json({"object": "list", "data": data})

    async def _chat(self, http: HttpRequest) -> Response:
        body = await _body(http)
        request = _understood(chat_api.read_request, body)
        completion = await self._complete("chat", body, request)
        answer_id = _answer_id(request)
        if not body.get("stream"):
            return _Json(chat_api.body_of(completion, request, answer_id))
        options = body.get("stream_options")
        include_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        chunks = chat_api.chunks_of(completion, request, answer_id, include_usage=include_usage)
        events = [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]
        return _stream(events)

    async def _responses(self, http: HttpRequest) -> Response:
        body = await _body(http)
        request = _understood(responses_api.read_request, body)
        completion = await self._complete("responses", body, request)
        answer_id = _answer_id(request)
        if not body.get("stream"):
            return _Json(responses_api.body_of(completion, request, answer_id))
        events = responses_api.events_of(completion, request, answer_id)
        return _stream([responses_api.sse(event) for event in events])

    async def _complete(self, api: Api, body: Mapping[str, Any], request: Request) -> Completion:
        try:
            if (script := self._scripts.get(request.model)) is not None:
                # Off the loop: a long conversation takes a moment to be played through.
                return await asyncio.to_thread(play, script, request)
            if (cassette := self.cassettes.get(request.model)) is not None:
                return cassette.answer(request)
            if self._recorder is not None:
                return await self._recorder.answer(api, body, request)
        except CassetteMiss as miss:
            raise _Refused(409, CASSETTE_MISS, str(miss)) from miss
        except UpstreamFailed as failed:
            raise _Refused(failed.status, "upstream_failed", str(failed)) from failed
        raise _Refused(404, CASSETTE_MISS, f"no script or cassette for {request.model!r}")


def _answer_id(request: Request) -> str:
    return hashlib.sha256(request.key().encode()).hexdigest()[:24]


def _understood(read: Callable[[Mapping[str, Any]], Request], body: Mapping[str, Any]) -> Request:
    try:
        return read(body)
    except chat_api.BadRequest as error:
        raise _Refused(400, "bad_request", str(error)) from error


async def _body(http: HttpRequest) -> dict[str, Any]:
    data = bytearray()
    async for chunk in http.stream():
        data += chunk
        if len(data) > MAX_REQUEST_BYTES:
            raise _Refused(413, "too_large", f"the request exceeds {MAX_REQUEST_BYTES} bytes")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _Refused(400, "bad_json", f"the request is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise _Refused(400, "bad_json", "the request is not a JSON object")
    return body


def _stream(events: list[str]) -> Response:
    async def send() -> AsyncIterator[str]:
        for event in events:
            yield event

    return StreamingResponse(
        send(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )
