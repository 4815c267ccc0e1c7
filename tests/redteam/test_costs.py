# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A builder hides or invents what its model calls cost, which training and reports count by."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
from typing import TYPE_CHECKING

import pytest

from support.attacks.case import redteam
from support.attacks.hostile_builds import APP, HONEST, HostileBuilds
from support.gym_servers.building import CALL, SESSION, event
from vibench_gym.gym.box.model_relay import ModelRelay
from vibench_gym.gym.box.model_route import ModelTraffic, ModelUrl
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.attacks.case import Seen

pytestmark = [pytest.mark.gym]
RUN = "/ng-rollout/3-1"
COST = {"prompt_tokens": 700, "completion_tokens": 30}
TOLD = f"data: {json.dumps({'choices': [], 'usage': COST})}\n\n".encode()
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


class Model:
    """A model server that compresses for those who ask, and may keep its stream open."""

    def __init__(self, *, stays: bool = False) -> None:
        self.stays = stays

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"gzip" in head.lower():
            writer.write(STREAM + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(TOLD))
        else:
            writer.write(STREAM + b"\r\n" + TOLD)
        await writer.drain()
        if self.stays:
            await reader.read()  # until the caller is gone


@contextlib.asynccontextmanager
async def route(model: Model) -> AsyncIterator[tuple[int, ModelTraffic]]:
    """A box's route to a model, and what is counted on it."""
    traffic = ModelTraffic()
    async with serving(model) as server:
        url = ModelUrl("http", "127.0.0.1", server.sockets[0].getsockname()[1], RUN)
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        async with ModelRelay(url, traffic).serving(listener):
            yield listener.getsockname()[1], traffic


async def call(port: int, *fields: str, until: bytes = b"") -> None:
    """One call; with `until`, its caller hangs up as soon as it has read that."""
    target = f"POST {RUN}/v1/chat/completions HTTP/1.1"
    head = [target, f"X-Session-Id: {SESSION}", "Content-Length: 0", *fields, "", ""]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join(head).encode())
    async with asyncio.timeout(60):
        await (reader.readuntil(until) if until else reader.read())
    writer.close()
    await writer.wait_closed()


@redteam(
    "harness",
    gain="pass for cheap, or poison what is counted: a transcript of invented tokens, a sub-agent"
    " of which it says nothing",
    expected="the model server's own numbers, of every conversation",
    defences=["tokens_counted_outside"],
)
@pytest.mark.sandbox
@pytest.mark.postgres
async def test_lies_about_its_tokens(tmp_path: Path, seen: Seen) -> None:
    lie = event("step_finish", messageID="msg_1", id="p3", reason="stop", tokens={"input": 10**9})
    async with HostileBuilds(tmp_path) as builds:
        honest = await builds.build(HONEST)
        one = builds.policy.prompt_tokens, builds.policy.completion_tokens
        build = await builds.build(f"{CALL}; {CALL.replace(SESSION, 'ses_2')}; {lie}; {APP}")

    assert honest.usage is not None
    assert build.usage is not None
    assert (honest.usage.input_tokens, honest.usage.output_tokens) == one
    assert build.transcript.usage.input_tokens == 10**9
    assert build.sessions == (SESSION, "ses_2")
    assert (build.usage.input_tokens, build.usage.output_tokens) == (one[0] * 2, one[1] * 2)
    seen("two conversations, counted as twice its twin's one")


@redteam(
    "harness",
    gain="be counted by its own words: answers that our side cannot read",
    expected="answers come uncompressed, whatever the box asks for",
    defences=["answers_readable"],
)
async def test_asks_for_compressed_answers(seen: Seen) -> None:
    async with route(Model()) as (port, traffic):
        await call(port)
        honest = traffic.usage
        await call(port, "Accept-Encoding: gzip, br")

    assert (honest.input_tokens, honest.output_tokens) == (700, 30)
    assert (traffic.counted, traffic.usage) == (2, honest + honest)
    seen("counted as its twin's")


@redteam(
    "harness",
    gain="cost nothing: hang up as soon as the answer is there",
    expected="counted before the box has it",
    defences=["tokens_counted_at_once"],
)
async def test_hangs_up_before_the_end(seen: Seen) -> None:
    async with route(Model()) as (port, traffic):
        await call(port)
        honest = traffic.usage
    async with route(Model(stays=True)) as (port, traffic):
        await call(port, until=TOLD)

    assert honest.input_tokens == 700
    assert (traffic.counted, traffic.usage) == (1, honest)
    seen("counted as its twin's")
