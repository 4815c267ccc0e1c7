# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A model endpoint that misbehaves as told: real HTTP, for tests of clients."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType


@dataclass
class Fault:
    """One answer: sent as it is, unless it hangs or breaks off."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: int = 0
    """Bytes of the promised body that are never sent."""


def completion_body(**message: Any) -> dict[str, Any]:
    """A chat completion as real endpoints send it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
    }


def ok(**message: Any) -> Fault:
    """A good answer."""
    return Fault(body=json.dumps(completion_body(**message)).encode())


@dataclass
class FaultServer:
    """Gives its answers in order, the last one for ever, and keeps what it was sent.

    An async context manager; `url` is its base URL.
    """

    answers: list[Fault] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    def answer(self, request: dict[str, Any]) -> Fault:
        """What a request gets."""
        del request
        return self.answers[min(len(self.requests), len(self.answers)) - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one answer."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            self.paths.append(head.split(" ")[1])
            fields = (line.partition(":") for line in head.lower().splitlines()[1:])
            sizes = [int(value) for name, _, value in fields if name == "content-length"]
            self.requests.append(json.loads(await reader.readexactly(sizes[0])))
            answer = self.answer(self.requests[-1])
            if answer.hang:
                await reader.read()
                return
            headers = {
                "content-type": "application/json",
                "content-length": str(len(answer.body) + answer.cut),
                "connection": "close",
                **answer.headers,
            }
            lines = [f"HTTP/1.1 {answer.status} X", *(f"{k}: {v}" for k, v in headers.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
