# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Records a cassette: passes a request on to a real endpoint and keeps what it answered.

The endpoint is always asked without streaming; the replay server streams the answer if the client
wants that. No header of either side is kept, and the key is removed from texts.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import httpx

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.loopback import is_loopback
from vibench_gym.llm.replay import responses_api
from vibench_gym.llm.replay.cassette import Cassette, Request
from vibench_gym.llm.wire import BadAnswer, read_completion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from vibench_gym.llm.base import Completion

MAX_ANSWER_BYTES = 32 * 1024 * 1024
_OK = 200
_NOT_FORWARDED = frozenset({"stream", "stream_options", "store", "background"})

type Api = Literal["chat", "responses"]
PATHS: Mapping[Api, str] = {"chat": "chat/completions", "responses": "responses"}


class UpstreamFailed(Exception):
    """The real endpoint gave no completion; `status` and `body` are for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Recording:
    """Where to record from and to; models that nothing else serves are recorded.

    Raises:
        ConfigError: the key's environment variable is not set.
    """

    path: Path
    base_url: str
    api_key_env: str | None = "VIBENCH_GYM_API_KEY"
    timeout_s: float = 600.0
    _key: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        if self.api_key_env is not None:
            self._key = os.environ.get(self.api_key_env, "").strip()
            if not self._key:
                raise ConfigError(f"no key to record with: set {self.api_key_env}")

    def recorder(self) -> Recorder:
        """A recorder that goes on where the cassette at `path` ends, if there is one."""
        cassette = Cassette.load(self.path) if self.path.exists() else Cassette()
        return Recorder(self, cassette, self._key)


class Recorder:
    """Asks the real endpoint and saves the cassette after every answer."""

    def __init__(self, recording: Recording, cassette: Cassette, key: str) -> None:
        self.cassette = cassette
        self._recording = recording
        self._key = key
        self._saving = asyncio.Lock()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=recording.timeout_s,
            trust_env=not is_loopback(recording.base_url),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._client.aclose()

    async def answer(self, api: Api, body: Mapping[str, Any], request: Request) -> Completion:
        """The real endpoint's answer, recorded.

        Raises:
            UpstreamFailed: it gave none; nothing is recorded.
        """
        forwarded = {name: value for name, value in body.items() if name not in _NOT_FORWARDED}
        url = f"{self._recording.base_url.rstrip('/')}/{PATHS[api]}"
        try:
            async with asyncio.timeout(self._recording.timeout_s):
                status, data = await self._post(url, forwarded)
        except (httpx.HTTPError, TimeoutError) as error:
            raise UpstreamFailed(502, f"{type(error).__name__}: {self._safe(str(error))}") from None
        if status != _OK:
            raise UpstreamFailed(status, self._safe(data.decode("utf-8", "replace")[:2000]))
        try:
            answer = json.loads(data)
            read = responses_api.read_answer if api == "responses" else read_completion
            completion = read(answer)
        except (BadAnswer, ValueError, RecursionError) as error:
            raise UpstreamFailed(502, self._safe(str(error))) from None
        async with self._saving:
            self.cassette.add(request, completion, scrub=self._safe)
            await asyncio.to_thread(self.cassette.save, self._recording.path)
        return replace(completion, needs_history=True)

    async def _post(self, url: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
        data = bytearray()
        content = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        async with self._client.stream("POST", url, content=content, headers=headers) as response:
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > MAX_ANSWER_BYTES:
                    raise UpstreamFailed(502, f"the answer exceeds {MAX_ANSWER_BYTES} bytes")
            return response.status_code, bytes(data)

    def _safe(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text
