# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The model that some apps call while they are used: a way to it, and never its key.

The app finds OPENAI_API_KEY and OPENAI_BASE_URL, which every OpenAI client reads; they name a relay
on its own loopback. The relay puts the operator's key in and carries calls of the API, a bounded
number of them, to one fixed place. What an app prints, stores or sends on is worth nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from vibench_gym.core.config import MIB
from vibench_gym.core.errors import ConfigError
from vibench_gym.core.loopback import is_loopback
from vibench_gym.core.redact import MIN_SECRET, redact
from vibench_gym.stack.packages.http_wire import (
    HttpProtocolError,
    Request,
    read_request,
    send_response,
)
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Mapping

    from vibench_gym.core.config import AppModelConfig
    from vibench_gym.stack.app_server import AppNetwork

PORT = 3143
"""Where apps find it on their loopback, beside the registry mirror and the builder's model."""
TOKEN = "sk-given-by-the-environment"  # noqa: S105 (worth nothing: the relay puts the key in)
ENV = {
    "OPENAI_API_KEY": TOKEN,
    "OPENAI_BASE_URL": f"http://127.0.0.1:{PORT}/v1",
    "OPENAI_API_BASE": f"http://127.0.0.1:{PORT}/v1",
}
MAX_CONNECTIONS = 16
MAX_BODY_BYTES = 16 * MIB
MAX_ANSWER_BYTES = 64 * MIB
HEAD_S = 60.0
SEND_S = 60.0
_TARGET = re.compile(r"/v1/[A-Za-z0-9._/:-]*(\?[A-Za-z0-9._=&%-]*)?")
_PASSED = frozenset({"content-type", "accept", "openai-beta"})
_REFUSED = frozenset({401, 403})


def app_model_env(config: AppModelConfig | None) -> Mapping[str, str]:
    """Environment variables of the app's processes."""
    return {} if config is None else ENV


def app_model_key(config: AppModelConfig) -> str:
    """The key, from our own environment.

    Raises:
        ConfigError: it is not set, or too short for a key.
    """
    key = os.environ.get(config.api_key_env, "")
    if len(key) < MIN_SECRET or not key.isascii() or not key.isprintable():
        raise ConfigError(
            f"the environment variable {config.api_key_env} holds no key for the model that apps "
            "call: set it, or leave app_key_env out and the artifacts that need it are skipped"
        )
    return key


@contextlib.asynccontextmanager
async def app_model_route(
    network: AppNetwork, config: AppModelConfig | None
) -> AsyncIterator[None]:
    """Answer on the network's loopback until left; nothing where apps are given no model.

    Raises:
        ConfigError: there is no key.
        SandboxUnavailable: the network is broken.
    """
    if config is None:
        yield
        return
    relay = AppModelRelay(config, app_model_key(config))
    async with relay.serving(await network.listen(PORT)):
        yield


@dataclass(slots=True)
class AppModelRelay:
    """One stack's way to the model."""

    config: AppModelConfig
    key: str = field(repr=False)
    requests: int = 0
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONNECTIONS))
    _client: httpx.AsyncClient | None = None

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Answer on a listening socket until left."""
        async with (
            # The operator's proxy is asked, but not for this host; redirects could lead on.
            httpx.AsyncClient(
                timeout=self.config.timeout_s,
                follow_redirects=False,
                trust_env=not is_loopback(self.config.base_url),
            ) as self._client,
            serving(self._connection, listener),
        ):
            yield

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, TimeoutError, HttpProtocolError, asyncio.IncompleteReadError
        ):
            async with self._slots:
                request = await asyncio.wait_for(read_request(reader), HEAD_S)
                if request is not None:
                    await self._exchange(request, reader, writer)

    async def _exchange(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        refusal, length = self._judge(request)
        if refusal:
            await send_response(writer, request, refusal, b"not a call of the model's API\n")
            return
        if "100-continue" in request.headers.get("expect", "").lower():
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await asyncio.wait_for(reader.readexactly(length), SEND_S)
        self.requests += 1
        try:
            await self._carry(request, body, writer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            message = redact(f"the model is not reachable: {type(error).__name__}\n", [self.key])
            await send_response(writer, request, 502, message.encode())

    def _judge(self, request: Request) -> tuple[int, int]:
        """A status to refuse with (0: carry it) and the body's length."""
        path = request.target.partition("?")[0]
        parts = path.split("/")[1:]
        length = request.headers.get("content-length", "0")
        if request.method not in ("GET", "POST"):
            return 405, 0
        if not _TARGET.fullmatch(request.target) or any(part in ("", ".", "..") for part in parts):
            return 404, 0
        if "transfer-encoding" in request.headers:
            return 411, 0
        if not (length.isascii() and length.isdecimal()) or len(length) > 12:  # noqa: PLR2004 (digits)
            return 400, 0
        if int(length) > MAX_BODY_BYTES:
            return 413, 0
        return (429, 0) if self.requests >= self.config.max_requests else (0, int(length))

    async def _carry(self, request: Request, body: bytes, writer: asyncio.StreamWriter) -> None:
        if self._client is None:
            raise RuntimeError("the relay does not serve")
        headers = {name: request.headers[name] for name in _PASSED & request.headers.keys()}
        headers |= {"authorization": f"Bearer {self.key}", "accept-encoding": "identity"}
        url = self.config.base_url.rstrip("/") + request.target.removeprefix("/v1")
        async with self._client.stream(
            request.method, url, headers=headers, content=body
        ) as answer:
            if answer.status_code in _REFUSED:
                # Such answers quote the key.
                await send_response(
                    writer, request, answer.status_code, b"the model refuses the operator's key\n"
                )
                return
            kind = answer.headers.get("content-type", "application/json")
            clean = "".join(c for c in kind if c.isascii() and c.isprintable())
            head = f"HTTP/1.1 {answer.status_code} Answer\r\ncontent-type: {clean}\r\n"
            writer.write(f"{head}connection: close\r\n\r\n".encode("latin-1"))
            carried = 0
            async for data in answer.aiter_bytes():
                carried += len(data)
                if carried > MAX_ANSWER_BYTES:
                    return
                writer.write(data)
                await asyncio.wait_for(writer.drain(), SEND_S)
            await _finish(writer)


async def _finish(writer: asyncio.StreamWriter) -> None:
    """Let what is written arrive: the connection is cut when its handler ends."""
    writer.close()
    await asyncio.wait_for(writer.wait_closed(), SEND_S)
