# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The model route: its addresses, and the relay that carries it, on sockets of this host."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import TYPE_CHECKING

import pytest
import uvloop

from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.agent.model_control import ModelControl
from vibench_gym.gym.box import model_relay
from vibench_gym.gym.box.call_usage import Usage
from vibench_gym.gym.box.model_relay import ModelRelay
from vibench_gym.gym.box.model_route import ModelTraffic, ModelUrl
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.gym
RUN = "/ng-rollout/0-0"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


class Upstream:
    """A model server that keeps what it was sent and answers with the same bytes."""

    def __init__(self, answer: bytes = GOOD, *, wait: asyncio.Event | None = None) -> None:
        self.answer = answer
        self.wait = wait
        self.seen: list[bytes] = []
        self.left = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.readuntil(b"\r\n\r\n")
        length = int(data.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
        self.seen.append(data + await reader.readexactly(length))
        if self.wait is not None:
            await reader.read()
            self.left.set()
        writer.write(self.answer)
        await writer.drain()


@contextlib.asynccontextmanager
async def relayed(
    upstream: Upstream, *, prefix: str = RUN, port: int | None = None
) -> AsyncIterator[tuple[int, ModelTraffic]]:
    traffic = ModelTraffic()
    async with serving(upstream) as server:
        far = port or server.sockets[0].getsockname()[1]
        relay = ModelRelay(ModelUrl("http", "127.0.0.1", far, prefix), traffic)
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        async with relay.serving(listener):
            yield listener.getsockname()[1], traffic


async def exchange(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return answer


def post(path: str, body: bytes = b"{}", *headers: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


# --- addresses


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("http://127.0.0.1:8000/ng-rollout/0-0/v1", "http://127.0.0.1:8000/ng-rollout/0-0/v1"),
        ("http://10.0.0.2:8000/", "http://10.0.0.2:8000/v1"),
        ("https://models.example/", "https://models.example:443/v1"),
        ("http://[::1]:8000/v1/", "http://[::1]:8000/v1"),
    ],
)
def test_a_url_is_taken_apart_and_put_together(url: str, base_url: str) -> None:
    assert ModelUrl.parse(url).base_url == base_url


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/v1",
        "http:///v1",
        "http://x:99999999/",
        "http://u:p@x/v1",
        "http://x/a/../b/v1",
        "http://x/%2e%2e/v1",
        "http://x/v1?y=1",
        "127.0.0.1:80",
    ],
)
def test_what_no_route_can_be_made_to_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        ModelUrl.parse(url)


@pytest.mark.parametrize(
    ("provider", "override", "seen"),
    [
        ("bubblewrap", None, "http://127.0.0.1:3142/ng-rollout/0-0/v1"),
        ("docker", None, "http://host.docker.internal:9000/ng-rollout/0-0/v1"),
        ("opensandbox", None, "http://127.0.0.1:9000/ng-rollout/0-0/v1"),
        ("opensandbox", "https://gym.example/", "https://gym.example:443/ng-rollout/0-0/v1"),
        ("docker", "http://10.1.2.3:7000/v1", "http://10.1.2.3:7000/ng-rollout/0-0/v1"),
    ],
)
def test_every_provider_sees_its_own_address_with_the_runs_path(
    provider: str, override: str | None, seen: str
) -> None:
    outside = ModelUrl.parse("http://127.0.0.1:9000/ng-rollout/0-0/v1")

    assert outside.inside(provider, override).base_url == seen


def test_an_address_that_is_not_loopback_needs_no_gateway() -> None:
    outside = ModelUrl.parse("http://10.0.0.5:9000/v1")

    assert outside.inside("docker", None) == outside


# --- the relay


async def test_a_call_arrives_whole_and_is_counted() -> None:
    upstream = Upstream()
    async with relayed(upstream) as (port, traffic):
        answer = await exchange(
            port,
            post(f"{RUN}/v1/chat/completions", b"hello", "X-Session-Id: ses_1", "Cookie: a=b"),
        )

    assert answer == GOOD
    head, _, body = upstream.seen[0].partition(b"\r\n\r\n")
    assert head.startswith(f"POST {RUN}/v1/chat/completions HTTP/1.1\r\n".encode())
    assert body == b"hello"
    assert b"cookie" not in head.lower()
    assert (traffic.requests, traffic.answered) == (1, 1)
    assert list(traffic.sessions) == ["ses_1"]


@pytest.mark.parametrize(
    "request_",
    [
        post("/v1/chat/completions"),
        post("/ng-rollout/0-1/v1/chat/completions"),
        post(f"{RUN}x/v1/chat/completions"),
        post(f"{RUN}/v1/../../0-1/v1/chat/completions"),
        post(f"{RUN}/v1/%2e%2e/x"),
        post(f"{RUN}/v1//x"),
        post(f"http://127.0.0.1:1{RUN}/v1/x"),
        post(f"{RUN}/v1/x#y"),
        post(RUN),
        b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n",
        b"DELETE /ng-rollout/0-0/v1/x HTTP/1.1\r\n\r\n",
        post(f"{RUN}/v1/x", b"", "Transfer-Encoding: chunked"),
        f"POST {RUN}/v1/x HTTP/1.1\r\nContent-Length: -1\r\n\r\n".encode(),
        f"POST {RUN}/v1/x HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n".encode(),
    ],
)
async def test_nothing_but_calls_of_this_run_is_carried(request_: bytes) -> None:
    upstream = Upstream()
    async with relayed(upstream) as (port, traffic):
        answer = await exchange(port, request_)

    assert status(answer) in (400, 403, 405, 411, 413)
    assert upstream.seen == []
    assert traffic.requests == 0


async def test_a_second_request_cannot_ride_on_the_first() -> None:
    upstream = Upstream()
    smuggled = post("/ng-rollout/0-1/v1/x")
    async with relayed(upstream) as (port, traffic):
        await exchange(port, post(f"{RUN}/v1/x") + smuggled)

    assert traffic.requests == 1
    assert all(b"0-1" not in seen for seen in upstream.seen)


async def test_header_lines_that_hide_others_are_not_passed_on() -> None:
    upstream = Upstream()
    async with relayed(upstream) as (port, _traffic):
        await exchange(port, post(f"{RUN}/v1/x", b"{}", "X-A: 1\nContent-Length: 9", "B\tad: 1"))

    assert upstream.seen[0].count(b"content-length") == 1
    assert b"Content-Length: 9" not in upstream.seen[0]


async def test_a_model_server_that_is_gone_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    async with relayed(Upstream(), port=closed) as (port, traffic):
        answer = await exchange(port, post(f"{RUN}/v1/x"))

    assert status(answer) == 502
    assert traffic.answered == 0
    assert traffic.failing_since is not None
    assert "no connection" in traffic.last_failure


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n"])
async def test_an_answer_that_breaks_off_is_a_failure(answer: bytes) -> None:
    async with relayed(Upstream(answer)) as (port, traffic):
        await exchange(port, post(f"{RUN}/v1/x"))

    assert traffic.answered == 0
    assert "broke off" in traffic.last_failure


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "answered"),
    [
        (b'data: {"id": "1", "choices": []}\n\n', 1),
        (b': wait\n\n: wait\n\nevent: x\ndata: {"type": "response.created"}\n\n', 1),
        (b": wait\n\n: wait\n\n", 0),
        (b"", 0),
        (b'data: {"error": {"message": "no model"}}\n\n', 0),
    ],
)
async def test_a_stream_without_a_word_is_no_answer(body: bytes, answered: int) -> None:
    async with relayed(Upstream(STREAM + body)) as (port, traffic):
        received = await exchange(port, post(f"{RUN}/v1/x"))

    assert received == STREAM + body
    assert (traffic.answered, bool(traffic.last_failure)) == (answered, not answered)


async def test_refusals_are_passed_on_and_a_good_answer_ends_the_count() -> None:
    upstream = Upstream(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
    async with relayed(upstream) as (port, traffic):
        assert status(await exchange(port, post(f"{RUN}/v1/x"))) == 500
        assert traffic.failing_since is not None
        upstream.answer = GOOD
        assert status(await exchange(port, post(f"{RUN}/v1/x"))) == 200

    assert (traffic.requests, traffic.answered) == (2, 1)
    assert "status 500" in traffic.last_failure
    assert not traffic.failing_since


async def test_a_caller_that_leaves_ends_the_call_at_the_model() -> None:
    upstream = Upstream(wait=asyncio.Event())
    async with relayed(upstream) as (port, _traffic):
        _reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post(f"{RUN}/v1/x"))
        while not upstream.seen:  # noqa: ASYNC110 (the far side is a plain server)
            await asyncio.sleep(0.01)
        writer.close()
        await asyncio.wait_for(upstream.left.wait(), 20)


def priced(prompt: int, *, streamed: bool) -> bytes:
    usage = json.dumps({"usage": {"prompt_tokens": prompt, "completion_tokens": 2}}).encode()
    if streamed:
        return STREAM + b"data: " + usage + b"\n\ndata: [DONE]\n\n"
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(usage), usage)


@pytest.mark.parametrize("streamed", [True, False])
async def test_tokens_of_every_conversation_are_counted(*, streamed: bool) -> None:
    upstream = Upstream()
    async with relayed(upstream) as (port, traffic):
        for prompt, session in ((10, "root"), (200, "sub-agent"), (3000, "root")):
            upstream.answer = priced(prompt, streamed=streamed)
            sent = post(f"{RUN}/v1/x", b"{}", f"X-Session-Id: {session}", "Accept-Encoding: br")
            assert await exchange(port, sent) == upstream.answer
        # NeMo Gym joins calls to conversations by their session: others are nobody's.
        await exchange(port, post(f"{RUN}/v1/x"))

    assert (traffic.answered, traffic.counted) == (4, 3)
    assert traffic.usage == Usage(input_tokens=3210, output_tokens=6)
    assert b"accept-encoding" not in upstream.seen[0].lower()


async def test_a_failed_call_costs_nothing() -> None:
    body = b'{"usage": {"prompt_tokens": 5, "completion_tokens": 5}}'
    refused = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with relayed(Upstream(refused)) as (port, traffic):
        await exchange(port, post(f"{RUN}/v1/x", b"{}", "X-Session-Id: a"))

    assert (traffic.counted, traffic.usage) == (0, Usage())


async def test_sessions_are_bounded_and_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_relay, "MAX_SESSIONS", 2)
    async with relayed(Upstream()) as (port, traffic):
        for name in ("a", "b", "c", "x" * 500, "a b"):
            await exchange(port, post(f"{RUN}/v1/x", b"{}", f"X-Session-Id: {name}"))

    assert list(traffic.sessions) == ["a", "b"]


def test_it_works_on_the_event_loop_of_gyms_servers() -> None:
    async def call() -> tuple[bytes, int]:
        async with relayed(Upstream()) as (port, traffic):
            return await exchange(port, post(f"{RUN}/v1/x")), traffic.answered

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(call()) == (GOOD, 1)


# --- control experiments


class Seeing:
    """A model that takes pictures or refuses them, or refuses everything."""

    def __init__(self, *, pictures: int, text: int = 200) -> None:
        self.pictures, self.text = pictures, text
        self.asked: list[bool] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        shown = b"data:image/png;base64," in await reader.readexactly(length)
        self.asked.append(shown)
        writer.write(b"HTTP/1.1 %d X\r\n\r\n" % (self.pictures if shown else self.text))
        await writer.drain()


@pytest.mark.parametrize(
    ("pictures", "text", "takes"),
    [(200, 200, True), (400, 200, False), (500, 200, False), (503, 503, None)],
)
async def test_the_control_tells_whether_the_model_takes_pictures(
    pictures: int, text: int, *, takes: bool | None
) -> None:
    model = Seeing(pictures=pictures, text=text)
    async with serving(model) as server:
        url = ModelUrl("http", "127.0.0.1", server.sockets[0].getsockname()[1], RUN)
        assert await ModelControl(url).takes_pictures() is takes

    assert model.asked[0]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gone = ModelUrl("http", "127.0.0.1", taken.getsockname()[1])
    assert await ModelControl(gone).takes_pictures() is None


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (GOOD, ""),
        (b"HTTP/1.1 503 No\r\n\r\n", "the model server answers with status 503"),
        (b"nonsense", "broke off"),
        (b"", "broke off"),
    ],
)
async def test_the_control_tells_whether_the_model_works(answer: bytes, fault: str) -> None:
    upstream = Upstream(answer)
    async with serving(upstream) as server:
        url = ModelUrl("http", "127.0.0.1", server.sockets[0].getsockname()[1], RUN)
        found = await ModelControl(url).fault()

    assert fault in found
    assert bool(found) == bool(fault)
    assert upstream.seen[0].startswith(b"POST /v1/chat/completions ")  # nobody's rollout


async def test_watching_ends_when_the_model_stays_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = ModelUrl("http", "127.0.0.1", taken.getsockname()[1])
    control = ModelControl(url, patience_s=0.2)

    assert "no connection" in await asyncio.wait_for(control.watch(lambda: None), 20)


async def test_watching_asks_before_it_believes_the_traffic() -> None:
    """Failures that only a builder's own calls had do not end its harness."""
    traffic = ModelTraffic(failing_since=0.0)
    upstream = Upstream()
    async with serving(upstream) as server:
        url = ModelUrl("http", "127.0.0.1", server.sockets[0].getsockname()[1])
        watching = asyncio.create_task(ModelControl(url, patience_s=0.2).watch(lambda: traffic))
        while len([seen for seen in upstream.seen if seen]) < 2:  # noqa: ASYNC110 (as above)
            await asyncio.sleep(0.01)
        assert not watching.done()
        watching.cancel()
