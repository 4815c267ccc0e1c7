# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A ChatModel over any OpenAI-compatible endpoint.

This is the one place that retries; the SDK's own retries are off. The key is read from the
environment when the model is made and shows in no message, repr or log, even where an endpoint
echoes it. For the same reason an error is raised without its cause; its own text describes that.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import httpx
import openai

from vibench_gym.core.errors import CassetteMiss, ConfigError, GraderModelFailed
from vibench_gym.core.loopback import is_loopback
from vibench_gym.llm.base import ConversationRefused
from vibench_gym.llm.wire import (
    BadAnswer,
    error_code,
    error_text,
    read_completion,
    request_messages,
    request_tools,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from vibench_gym.core.config import ModelConfig
    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.llm.base import Completion, Message

try:  # Newer SDKs speak through httpx2, which raises errors of its own while a body is read.
    from httpx2 import HTTPError as _NewHTTPError
except ImportError:  # pragma: no cover - depends on the SDK's version
    _BROKEN: tuple[type[Exception], ...] = (openai.APIError, OSError, httpx.HTTPError)
else:
    _BROKEN = (openai.APIError, OSError, httpx.HTTPError, _NewHTTPError)

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
CASSETTE_MISS = "cassette_miss"
_LOOPBACK_KEY = "none-needed-on-loopback"
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0
_RETRIED = frozenset({408, 409, 425, 429})
_SERVER_ERROR = 500
_BAD_REQUEST = 400
_AUTH = frozenset({401, 403})
_REFUSED = frozenset({_BAD_REQUEST, 413, 422})
_CONTENT_FILTER = "content_filter"
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class _Failure:
    """One failed attempt: what happened, and whether and when another makes sense."""

    reason: str
    retry: bool
    wait_s: float | None = None
    refused: bool = False
    """Whether the endpoint refuses this one conversation."""


class OpenAIChatModel:
    """One model of one endpoint.

    Args:
        config: endpoint, key's environment variable, time-outs and retry budget.
        sleep: waits between attempts, for tests.
        clock: monotonic seconds, for tests.

    Raises:
        ConfigError: the key is missing or the URL is unusable.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        _check_url(config.base_url)
        loopback = is_loopback(config.base_url)
        self._config = config
        self._key = _key(config, loopback=loopback)
        self._sleep = sleep
        self._clock = clock
        self._limit_name = _LIMIT_NAMES[".openai." in config.base_url]
        self._client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=config.base_url,
            max_retries=0,
            timeout=config.timeout_s,
            # A proxy of the host's must not get between us and a server of our own.
            http_client=openai.DefaultAsyncHttpxClient(trust_env=not loopback),
        )
        # The SDK takes these from the environment; they are meant for another endpoint.
        self._client.organization = None
        self._client.project = None

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.name!r} at {self._where!r})"

    @property
    def name(self) -> str:
        """The model's name as sent to the endpoint."""
        return self._config.name

    async def aclose(self) -> None:
        """Release connections."""
        await self._client.close()

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        """Answer the conversation once.

        Raises:
            GraderModelFailed: no usable answer within the retry budget, or none to be hoped for.
            ConversationRefused: none for this conversation.
            CassetteMiss: a replayed model has no answer for this conversation.
        """
        request = await asyncio.to_thread(self._request, messages, tools)
        started = self._clock()
        attempts = 0
        while True:
            attempts += 1
            outcome = await self._attempt(request, tools, len(messages))
            elapsed = self._clock() - started
            if not isinstance(outcome, _Failure):
                usage = replace(outcome.usage, requests=attempts, seconds=elapsed)
                return replace(outcome, usage=usage)
            wait = outcome.wait_s
            if wait is None:
                wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempts - 1))
            too_late = elapsed + wait > self._config.retry_budget_s
            if not outcome.retry or attempts >= self._config.max_attempts or too_late:
                self._give_up(outcome, attempts, elapsed)
            await self._sleep(wait)

    @property
    def _where(self) -> str:
        return urlsplit(self._config.base_url).netloc

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._config.name,
            "messages": request_messages(messages),
        }
        if tools:
            request["tools"] = request_tools(tools)
        if self._config.temperature is not None:
            request["temperature"] = self._config.temperature
        return request

    async def _attempt(
        self, request: Mapping[str, Any], tools: Sequence[ToolSpec], turn: int
    ) -> Completion | _Failure:
        limited = {**request, self._limit_name: self._config.max_output_tokens}
        try:
            async with asyncio.timeout(self._config.timeout_s):
                body = await self._post(limited)
            completion = read_completion(body, tools=tools, id_prefix=f"call_{turn}")
        except BadAnswer as error:
            return _Failure(self._safe(str(error)), retry=True)
        except (TimeoutError, openai.APITimeoutError):
            return _Failure(f"no answer within {self._config.timeout_s:g} s", retry=True)
        except openai.APIStatusError as error:
            return self._status_failure(error)
        except _BROKEN as error:
            cause = error.__cause__ or error
            text = f"{type(cause).__name__}: {str(cause)[:300]}"
            return _Failure(self._safe(f"no connection or a broken answer ({text})"), retry=True)
        if completion.finish_reason == _CONTENT_FILTER and not completion.message.tool_calls:
            return _Failure("the answer was kept back by a content filter", False, refused=True)
        return completion

    async def _post(self, request: dict[str, Any]) -> object:
        create = self._client.chat.completions.with_streaming_response.create
        data = bytearray()
        # As `extra_body`, because the SDK would walk through every message for each of its types:
        # 70 ms of a blocked event loop for a conversation of 180 turns.
        async with create(model=request["model"], messages=[], extra_body=request) as response:
            async for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_RESPONSE_BYTES:
                    raise BadAnswer(f"the answer exceeds {MAX_RESPONSE_BYTES} bytes")
        try:
            body: object = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BadAnswer(f"the answer is not JSON: {error}") from error
        if error_code(body) == CASSETTE_MISS:
            raise CassetteMiss(error_text(body["error"] if isinstance(body, dict) else body))
        return body

    def _status_failure(self, error: openai.APIStatusError) -> _Failure:
        status = error.status_code
        body = error.body
        reason = self._safe(error_text(body or error.message))
        if error_code(body) == CASSETTE_MISS:
            message = body.get("message") if isinstance(body, dict) else None
            raise CassetteMiss(str(message or reason))
        if status in _AUTH:
            return _Failure(
                f"HTTP {status}: the endpoint refused the key in ${self._config.api_key_env}: "
                f"{reason}",
                retry=False,
            )
        if status == _BAD_REQUEST and getattr(error, "param", None) == self._limit_name:
            # Older servers know one name of the output limit, newer models accept only the other.
            self._limit_name = _LIMIT_NAMES[self._limit_name == _LIMIT_NAMES[0]]
            return _Failure(f"HTTP {status}: {reason}", retry=True, wait_s=0.0)
        hopeless = error_code(body) == "insufficient_quota"
        retry = (status in _RETRIED or status >= _SERVER_ERROR) and not hopeless
        return _Failure(
            f"HTTP {status}: {reason}",
            retry,
            _retry_after(error.response.headers),
            refused=status in _REFUSED,
        )

    def _give_up(self, failure: _Failure, attempts: int, elapsed: float) -> NoReturn:
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts in {elapsed:.0f} s"
        kind = ConversationRefused if failure.refused else GraderModelFailed
        raise kind(f"{self.name} at {self._where}: {failure.reason} ({tries})")

    def _safe(self, text: str) -> str:
        return text.replace(self._key, "***")


def _check_url(base_url: str) -> None:
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"{base_url!r} is not an http(s) URL of a model endpoint")
    if parts.username is not None or parts.password is not None:
        raise ConfigError("the model's base URL must not hold credentials; use the key's variable")


def _key(config: ModelConfig, *, loopback: bool) -> str:
    key = os.environ.get(config.api_key_env, "").strip()
    if key:
        return key
    if loopback:
        return _LOOPBACK_KEY
    raise ConfigError(
        f"no key for {config.name}: set the environment variable {config.api_key_env}"
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait, from either form of the header."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 - NaN
