# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An OpenAI-compatible endpoint that answers with the policies of `policies.py`.

The policy is the one named in the prompt by a line `policy: NAME`, else the one that the request's
`model` names, else the default. `python -m vibench_gym.testing.policy_server --port 8123` serves
the usual ones: `good`, `broken` (an app with a fault), `empty` (says something and builds nothing),
`mixed` (one of those three, by task), `tools` (builds, then searches, looks at a picture and asks
a sub-agent, which is `helper`), `silent` (never answers), `failing` (status 500), `slow` (builds,
then sits until it is stopped).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from vibench_gym.testing.policies import (
    Build,
    ByTask,
    Conversation,
    Scripted,
    Turn,
    bash,
    use_tools,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import TracebackType

    from starlette.requests import Request

    from vibench_gym.testing.policies import Policy

START_TIMEOUT_S = 30.0
_NAMED = re.compile(r"^policy: ([a-z0-9_-]+)$", re.MULTILINE)
_CREATED = 1_767_225_600
_MAX_TOKENS = 262_144
_FOREVER_S = 86_400.0


def usual_policies(root: Path | None = None) -> dict[str, Policy]:
    """The policies by name, over the bundled tasks or those below `root`."""
    sits = Turn("I try it.", (bash("sleep 3600"),))
    good = Build(root=root)
    broken = Build(broken=True, mutants={"pantry": "quantity_ignored"}, root=root)
    empty = Scripted((Turn("There is nothing to do."),))
    mixed: dict[str, Policy] = {"doodles": broken, "herbarium": empty, "tool_library": broken}
    return {
        "good": good,
        "broken": broken,
        "empty": empty,
        "mixed": ByTask(mixed, good, root),
        "tools": Build(root=root, then=use_tools("helper")),
        "helper": Scripted((Turn("I look.", (bash("ls"),)), Turn("I saw it all."))),
        "silent": Scripted((Turn(wait_s=_FOREVER_S),)),
        "failing": Scripted((Turn(status=500),) * 1000),
        "slow": Build(root=root, then=(sits,)),
    }


@dataclass
class PolicyServer:
    """Serves policies on a port of this host's loopback, as an async context manager."""

    policies: Mapping[str, Policy]
    default: str
    port: int = 0
    """0: any free one."""
    requests: list[str] = field(default_factory=list)
    """Names of the policies that answered, in order."""
    text_only: bool = False
    """As a model without eyes: calls with a picture are refused."""
    most_pictures: int = 0
    """The most that one call showed."""
    prompt_tokens: int = 0
    """Of all answers, as their usage said; so is the next."""
    completion_tokens: int = 0

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self.app(),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._serving = asyncio.create_task(self._serve(listener))
        async with asyncio.timeout(START_TIMEOUT_S):
            while not self._server.started:  # noqa: ASYNC110 (uvicorn has a flag, no event)
                await asyncio.sleep(0.01)
        return self

    async def _serve(self, listener: socket.socket) -> None:
        await self._server._serve(sockets=[listener])  # noqa: SLF001 (without its signal handlers)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        await asyncio.wait({self._serving}, timeout=5)
        self._serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._serving

    @property
    def base_url(self) -> str:
        """Where it answers, with `/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def app(self) -> Starlette:
        """The routes; any path before `/v1` belongs to a run and is accepted."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/{run:path}/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/models", self._models, methods=["GET"]),
                Route("/tokenize", self._tokenize, methods=["POST"]),
            ]
        )

    async def _models(self, _request: Request) -> Response:
        data = [{"id": name, "object": "model", "created": _CREATED} for name in self.policies]
        return JSONResponse({"object": "list", "data": data})

    async def _tokenize(self, request: Request) -> Response:
        """As vLLM's, by which NeMo Gym learns a prompt's token ids; they are invented."""
        tokens = list(range(len(await request.body()) // 4))
        return JSONResponse({"tokens": tokens, "count": len(tokens), "max_model_len": _MAX_TOKENS})

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        said = Conversation.of(body.get("messages") or [])
        name = self._name(said, str(body.get("model", "")))
        self.requests.append(name)
        self.most_pictures = max(self.most_pictures, said.pictures)
        if self.text_only and said.pictures:
            return JSONResponse({"error": {"message": "this is not a multimodal model"}}, 400)
        turn = await asyncio.to_thread(self.policies[name].turn, said)
        await asyncio.sleep(turn.wait_s)
        if turn.status != 200:  # noqa: PLR2004 (HTTP's success)
            return JSONResponse({"error": {"message": "scripted failure"}}, turn.status)
        completion = _completion(turn, json.dumps(body, sort_keys=True), str(body.get("model")))
        if body.get("logprobs"):
            completion["choices"][0]["logprobs"] = _token_ids(completion)
        self.prompt_tokens += completion["usage"]["prompt_tokens"]
        self.completion_tokens += completion["usage"]["completion_tokens"]
        if not body.get("stream"):
            return JSONResponse(completion)
        return StreamingResponse(_events(completion), media_type="text/event-stream")

    def _name(self, said: Conversation, model: str) -> str:
        named = _NAMED.search(said.prompt)
        for name in (named[1] if named else "", model):
            if name in self.policies:
                return name
        return self.default


def _completion(turn: Turn, key: str, model: str) -> dict[str, Any]:
    digest = hashlib.sha256(key.encode()).hexdigest()[:24]
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{digest[:12]}{number:02d}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for number, call in enumerate(turn.calls)
        ]
    reason = "tool_calls" if turn.calls else "stop"
    prompt, answer = len(key) // 4, len(json.dumps(message)) // 4
    return {
        "id": f"chatcmpl-{digest}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
        },
    }


def _token_ids(completion: dict[str, Any]) -> dict[str, Any]:
    """Invented tokens as vLLM tells them where `return_tokens_as_token_ids` is set."""
    count = completion["usage"]["completion_tokens"]
    made = [{"token": f"token_id:{number}", "logprob": -0.5} for number in range(count)]
    return {"content": [{**token, "bytes": None, "top_logprobs": []} for token in made]}


async def _events(completion: dict[str, Any]) -> AsyncIterator[str]:
    choice = completion["choices"][0]
    delta = dict(choice["message"])
    for number, call in enumerate(delta.get("tool_calls", ())):
        call["index"] = number
    head = {**completion, "object": "chat.completion.chunk", "usage": None}
    first = {"index": 0, "delta": delta, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    for event in (
        {**head, "choices": [first]},
        {**head, "choices": [last]},
        {**head, "choices": [], "usage": completion["usage"]},
    ):
        yield f"data: {json.dumps(event)}\n\n"
    yield "data: [DONE]\n\n"


def _end_with_input() -> None:
    with contextlib.suppress(OSError):
        sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve the usual policies until ended."""
    parser = argparse.ArgumentParser(description="Scripted policies behind an OpenAI API")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--default", default="good")
    parser.add_argument("--tasks", type=Path, help="folder of the tasks to know; the bundled ones")
    parser.add_argument("--tied", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    if options.tied:
        threading.Thread(target=_end_with_input, daemon=True).start()
    server = PolicyServer(usual_policies(options.tasks), options.default)
    uvicorn.run(server.app(), host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
