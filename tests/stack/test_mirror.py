# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The mirror before a registry of our own, over real sockets on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
import pytest

from vibench_gym.core.errors import AppSetupFailed, RegistryUnavailable
from vibench_gym.stack import tunnel
from vibench_gym.stack.http_wire import Request, read_request, send_response
from vibench_gym.stack.index_pages import JSON_TYPE
from vibench_gym.stack.mirror import Mirror
from vibench_gym.stack.outage import questions
from vibench_gym.stack.registries import Registries
from vibench_gym.stack.upstream import CACHE, Upstream, UpstreamRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Literal

HOST = "registry.example"
WHEEL = b"wheel" * 100_000


@dataclass
class Registry:
    """A registry in memory behind httpx's own transport for tests."""

    asked: list[str] = field(default_factory=list)
    reachable: bool = True
    html_only: bool = False
    etag: str | None = None
    status: int = 200
    stumbles_at: str = ""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(f"{request.method} {request.url}")
        if not self.reachable:
            raise httpx.ConnectError("no route")
        if request.url.path == self.stumbles_at:
            return httpx.Response(503)
        if self.status != 200:
            return httpx.Response(self.status)
        if self.etag is not None and request.headers.get("if-none-match") == self.etag:
            return httpx.Response(304)
        return self._content(request.url.path, request)

    def _content(self, path: str, request: httpx.Request) -> httpx.Response:
        headers = {} if self.etag is None else {"ETag": self.etag}
        if path == "/simple/pkg/":
            url = f"https://{HOST}/files/pkg-1-py3-none-any.whl"
            if self.html_only:
                return httpx.Response(200, html=f'<a href="{url}">pkg</a>')
            page = {"name": "pkg", "files": [{"filename": "pkg", "url": url, "hashes": {}}]}
            return httpx.Response(
                200, content=json.dumps(page), headers={"Content-Type": JSON_TYPE, **headers}
            )
        if path == "/files/pkg-1-py3-none-any.whl":
            return httpx.Response(200, content=WHEEL)
        if path in ("/npm/left-pad", "/npm/@scope/p"):
            tarball = f"https://{HOST}{path}/-/x-1.0.0.tgz"
            accept = request.headers["accept"]
            document = {"versions": {"1.0.0": {"dist": {"tarball": tarball}}}, "as": accept}
            return httpx.Response(200, content=json.dumps(document, separators=(",", ":")))
        if path.endswith(".tgz"):
            return httpx.Response(200, content=b"tgz")
        if path == "/simple/moved/":
            return httpx.Response(301, headers={"Location": "/simple/pkg/"})
        if path == "/simple/away/":
            return httpx.Response(302, headers={"Location": "https://elsewhere.example/"})
        return httpx.Response(404)


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@dataclass
class Mirrored:
    mirror: Mirror
    client: httpx.AsyncClient
    port: int
    registry: Registry

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(f"http://127.0.0.1:{self.port}{path}", headers=headers)

    async def raw(self, text: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text.replace("\n", "\r\n").encode())
        writer.write_eof()
        try:
            return await asyncio.wait_for(reader.read(), 10)
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def mirrored(
    cache: Path,
    registry: Registry | None = None,
    *,
    egress: Literal["registries", "open"] = "registries",
    extra_hosts: frozenset[str] = frozenset(),
    ttl_s: float = 600,
    max_bytes: int = 1 << 30,
    max_file_bytes: int = 1 << 30,
) -> AsyncIterator[Mirrored]:
    registry = registry or Registry()
    registries = Registries(
        (f"https://{HOST}/simple/",), f"https://user:secret@{HOST}/npm/", frozenset({HOST})
    )
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    upstream = Upstream(
        cache,
        ttl_s=ttl_s,
        max_file_bytes=max_file_bytes,
        client=httpx.AsyncClient(transport=httpx.MockTransport(registry)),
    )
    mirror = Mirror(
        registries, upstream, egress=egress, extra_hosts=extra_hosts, max_bytes=max_bytes
    )
    async with upstream, mirror.serving(listener), httpx.AsyncClient(trust_env=False) as client:
        yield Mirrored(mirror, client, port, registry)


async def test_python_page_in_both_forms_and_its_file(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        page = (await m.get("/simple/Pkg/", Accept=JSON_TYPE)).json()
        url = page["files"][0]["url"]
        assert url == f"http://127.0.0.1:3141/-/file/{HOST}/files/pkg-1-py3-none-any.whl"
        html = await m.get("/simple/pkg")
        assert url in html.text
        assert html.headers["content-type"].startswith("text/html")
        path = url.removeprefix("http://127.0.0.1:3141")
        assert (await m.get(path)).content == WHEEL
        head = await m.client.head(f"http://127.0.0.1:{m.port}{path}")
        assert head.headers["content-length"] == str(len(WHEEL))
        assert head.content == b""


async def test_html_index_is_served_to_all(tmp_path: Path) -> None:
    async with mirrored(tmp_path, Registry(html_only=True)) as m:
        page = await m.get("/simple/pkg/", Accept=JSON_TYPE)
        assert f"/-/file/{HOST}/files/" in page.text


async def test_npm_packuments_scoped_and_abbreviated(tmp_path: Path) -> None:
    short = "application/vnd.npm.install-v1+json"
    async with mirrored(tmp_path) as m:
        for path in ("/left-pad", "/@scope/p", "/@scope%2fp"):
            document = (await m.get(path, Accept=f"{short}; q=1.0, */*")).json()
            assert document["as"] == short
            assert HOST not in json.dumps(document).replace(f"/-/file/{HOST}", "")
        assert (await m.get("/left-pad")).json()["as"] == "application/json"
        assert (await m.get("/left-pad/-/x-1.0.0.tgz")).content == b"tgz"


async def test_credentials_of_an_index_stay_outside(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        for path in ("/simple/pkg/", "/left-pad", "/nothing"):
            assert "secret" not in (await m.get(path)).text


async def test_files_are_fetched_once_and_pages_within_their_time(tmp_path: Path) -> None:
    registry = Registry()
    for _ in range(2):
        async with mirrored(tmp_path, registry) as m:
            await asyncio.gather(*(m.get("/left-pad/-/x-1.0.0.tgz") for _ in range(5)))
            await asyncio.gather(*(m.get("/simple/pkg/") for _ in range(5)))
    assert len(registry.asked) == 2


async def test_old_pages_are_asked_for_again_by_tag(tmp_path: Path) -> None:
    registry = Registry(etag='"v1"')
    async with mirrored(tmp_path, registry, ttl_s=0) as m:
        first = await m.get("/simple/pkg/")
        assert (await m.get("/simple/pkg/")).text == first.text
    assert len(registry.asked) == 2


@pytest.mark.parametrize("failure", ["unreachable", "500"])
async def test_stale_pages_serve_while_the_registry_is_down(tmp_path: Path, failure: str) -> None:
    registry = Registry()
    async with mirrored(tmp_path, registry, ttl_s=0) as m:
        first = await m.get("/simple/pkg/")
        registry.reachable = failure != "unreachable"
        registry.status = 500 if failure == "500" else 200
        for _ in range(2):
            assert (await m.get("/simple/pkg/")).text == first.text
        missing = await m.get("/simple/other/")
        assert missing.status_code in (500, 502)


async def test_registry_errors_pass_through(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        assert (await m.get("/simple/nothing/")).status_code == 404
        assert (await m.get("/simple/moved/")).status_code == 200
        assert (await m.get("/simple/away/")).status_code == 502
        assert (await m.get("/")).status_code == 404
        assert (await m.get("/-/v1/search?text=x")).status_code == 404


async def test_nothing_can_be_written(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        for method in ("PUT", "POST", "DELETE", "PATCH"):
            url = f"http://127.0.0.1:{m.port}/left-pad"
            assert (await m.client.request(method, url, content=b"x")).status_code == 405
        assert not m.registry.asked


@pytest.mark.parametrize(
    "path",
    [
        f"/-/file/{HOST}/../../etc/passwd",
        f"/-/file/{HOST}/%2e%2e/x",
        "/a\\b",
        "/-/file/",
        "/..",
    ],
)
async def test_odd_paths_reach_nothing(tmp_path: Path, path: str) -> None:
    async with mirrored(tmp_path) as m:
        answer = await m.raw(f"GET {path} HTTP/1.1\nHost: x\n\n")
        assert answer.split(b" ")[1] in (b"400", b"403")
        assert not m.registry.asked


async def test_queries_do_not_fill_the_cache(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        for n in range(3):
            await m.get(f"/left-pad?{n}")
        assert len(m.registry.asked) == 1


async def test_other_hosts_are_refused_and_counted(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        for text in (
            "CONNECT evil.example:443 HTTP/1.1\n\n",
            "GET http://evil.example/x HTTP/1.1\nHost: evil.example\n\n",
            "POST http://other.example/x HTTP/1.1\nHost: x\n\n",
            "CONNECT [::1]:5432 HTTP/1.1\n\n",
            "CONNECT a\x01b HTTP/1.1\n\n",
            "GET /-/file/files.example/x HTTP/1.1\n\n",
        ):
            assert b" 403 " in (await m.raw(text)).split(b"\r\n")[0]
        counted = m.mirror.blocked_hosts
        assert counted == {
            "evil.example": 2,
            "other.example": 1,
            "::1": 1,
            "?": 1,
            "files.example": 1,
        }


async def test_count_of_hosts_is_bounded(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        for n in range(250):
            await m.raw(f"CONNECT h{n}.example:443 HTTP/1.1\n\n")
        assert len(m.mirror.blocked_hosts) == 200


@pytest.mark.parametrize("egress", ["open", "registries"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.1.1", "10.1.2.3", "[::1]"])
async def test_no_tunnel_leads_to_this_host_or_its_network(
    tmp_path: Path, host: str, egress: Literal["open", "registries"]
) -> None:
    extra = frozenset({host.strip("[]")})
    async with mirrored(tmp_path, egress=egress, extra_hosts=extra) as m:
        for text in (
            f"CONNECT {host}:80 HTTP/1.1\n\n",
            f"GET http://{host}/ HTTP/1.1\nHost: x\n\n",
        ):
            assert b" 403 " in (await m.raw(text)).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "address", ["::ffff:127.0.0.1", "0.0.0.1", "fe80::1%lo", "100.64.0.1", "224.0.0.1", "fc00::1"]
)
async def test_addresses_that_are_not_public(address: str) -> None:
    assert await tunnel.public_addresses(address, 80) == []


async def test_public_addresses_are_those_that_were_checked() -> None:
    assert await tunnel.public_addresses("8.8.8.8", 443) == ["8.8.8.8"]
    assert await tunnel.public_addresses("no such host.invalid", 443) == []


async def test_open_tunnel_carries_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        assert request is not None
        seen = f"{request.method} {request.target} {sorted(request.headers)}".encode()
        await send_response(writer, request, 200, seen)
        writer.close()

    async def here(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    monkeypatch.setattr(tunnel, "public_addresses", here)
    far = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = far.sockets[0].getsockname()[1]
    async with far, mirrored(tmp_path, egress="open") as m:
        plain = await m.raw(
            f"GET http://far.example:{port}/a?b=c HTTP/1.1\nHost: x\nProxy-Authorization: y\n\n"
        )
        assert plain.endswith(b"GET /a?b=c ['connection', 'host']")
        through = await m.raw(f"CONNECT far.example:{port} HTTP/1.1\n\nHEAD /h HTTP/1.1\nA: b\n\n")
        assert through.startswith(b"HTTP/1.1 200 Connection established")
        assert b"\r\n\r\nHTTP/1.1 200 OK" in through
        far.close()
        await far.wait_closed()
        gone = await m.raw(f"CONNECT far.example:{port} HTTP/1.1\n\n")
        assert b" 502 " in gone
        assert m.mirror.blocked_hosts == {}


@pytest.mark.parametrize(
    "text", ["rubbish\n\n", "GET / SPDY/1\n\n", "GET /" + "x" * 80_000 + " HTTP/1.1\n\n", "GET / H"]
)
async def test_what_is_not_http_ends_the_connection(tmp_path: Path, text: str) -> None:
    async with mirrored(tmp_path) as m:
        with contextlib.suppress(OSError):
            assert await m.raw(text) == b""
        assert (await m.get("/left-pad")).status_code == 200


async def test_connections_are_kept_for_more_requests(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        one = "GET /left-pad/-/x-1.0.0.tgz HTTP/1.1\nHost: x\n\n"
        assert (await m.raw(one * 3)).count(b"HTTP/1.1 200 OK") == 3


async def test_a_set_up_downloads_only_so_much(tmp_path: Path) -> None:
    async with mirrored(tmp_path, max_bytes=len(WHEEL)) as m:
        path = f"/-/file/{HOST}/files/pkg-1-py3-none-any.whl"
        assert (await m.get(path)).status_code == 200
        assert (await m.get(path)).status_code == 403


async def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    async with mirrored(tmp_path, max_file_bytes=1000) as m:
        answer = await m.get(f"/-/file/{HOST}/files/pkg-1-py3-none-any.whl")
        assert answer.status_code == 502
    assert not files_below(tmp_path)


async def test_cache_drops_its_oldest_files(tmp_path: Path) -> None:
    client = httpx.AsyncClient(transport=httpx.MockTransport(Registry()))
    async with Upstream(tmp_path, client=client) as upstream:
        await upstream.file(f"https://{HOST}/files/pkg-1-py3-none-any.whl")
        await upstream.file(f"https://{HOST}/npm/a/-/a.tgz")
    async with Upstream(tmp_path, max_cache_bytes=len(WHEEL) - 1):
        left = sum(p.stat().st_size for p in files_below(tmp_path))
    assert left < len(WHEEL)


async def test_a_broken_cache_entry_is_fetched_again(tmp_path: Path) -> None:
    registry = Registry()
    async with mirrored(tmp_path, registry) as m:
        await m.get("/left-pad")
        for file in files_below(tmp_path):
            if file.suffix == ".json":
                file.write_text("{")
        assert (await m.get("/left-pad")).status_code == 200
    assert len(registry.asked) == 2


async def test_unreachable_without_a_cache_is_said(tmp_path: Path) -> None:
    client = httpx.AsyncClient(transport=httpx.MockTransport(Registry(reachable=False)))
    async with Upstream(tmp_path, client=client) as upstream:
        with pytest.raises(UpstreamRefused, match="cannot be reached") as caught:
            await upstream.page(f"https://{HOST}/simple/pkg/", accept="*/*")
    assert caught.value.status == 502


def test_proxy_authority_of_odd_targets() -> None:
    def of(method: str, target: str) -> tuple[str, int]:
        return tunnel.authority(Request(method, target, {}, b""))

    assert of("CONNECT", "Host.Example:8443") == ("host.example", 8443)
    assert of("CONNECT", "host") == ("host", 443)
    assert of("GET", "http://user:pw@h.example/x") == ("h.example", 80)
    assert of("CONNECT", "h:99999") == ("?", 443)
    assert of("GET", "http://[::1/x") == ("?", 80)


def test_clients_are_pointed_at_the_mirror(tmp_path: Path) -> None:
    mirror = Mirror(Registries((), "https://npm.example/", frozenset()), Upstream(tmp_path))
    assert mirror.env["PIP_INDEX_URL"] == "http://127.0.0.1:3141/simple/"
    assert mirror.env["npm_config_registry"] == "http://127.0.0.1:3141/"
    assert "127.0.0.1" in mirror.env["no_proxy"]


# --- whose fault it is that packages are missing


async def test_an_outage_is_told_from_a_question_that_the_app_did_not_choose(
    tmp_path: Path,
) -> None:
    async with mirrored(tmp_path) as m:
        m.registry.reachable = False
        assert (await m.get("/simple/pkg/")).status_code == 502
        assert m.mirror.failed_hosts == {HOST}
        assert "cannot be reached" in (await m.mirror.outage() or "")
        m.registry.reachable, m.registry.status = True, 503
        assert "status 503" in (await m.mirror.outage() or "")
        m.registry.status = 200
        m.registry.asked.clear()
        assert await m.mirror.outage() is None
        assert m.registry.asked == [
            f"GET https://{HOST}/simple/pip/",
            f"GET https://user:secret@{HOST}/npm/npm",
        ]


@pytest.mark.parametrize("status", [404, 403, 410])
async def test_what_a_registry_does_not_have_is_no_outage(tmp_path: Path, status: int) -> None:
    async with mirrored(tmp_path) as m:
        m.registry.status = status
        assert (await m.get("/simple/nothing/")).status_code == status
        assert m.mirror.failed_hosts == frozenset()
        assert await m.mirror.outage() is None


async def test_an_older_answer_at_hand_is_no_outage(tmp_path: Path) -> None:
    async with mirrored(tmp_path, ttl_s=0) as m:
        await m.get("/simple/pkg/")
        m.registry.reachable = False
        assert (await m.get("/simple/pkg/")).status_code == 200
        assert m.mirror.failed_hosts == frozenset()


async def test_a_cache_that_cannot_be_written_is_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with mirrored(tmp_path / "file" / "cache") as m:
        assert (await m.get("/simple/pkg/")).status_code == 502
        assert m.mirror.failed_hosts == {CACHE}
        assert "cannot be written" in (await m.mirror.outage() or "")


async def test_a_cache_without_room_for_what_was_asked_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = len(WHEEL) // 2

    def allocate(_file: int, _offset: int, size: int) -> None:
        if size > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def rename(_self: Path, _target: Path) -> None:  # where a full disk may be told as well
        allocate(0, 0, len(WHEEL))

    monkeypatch.setattr("os.posix_fallocate", allocate)
    monkeypatch.setattr("pathlib.Path.rename", rename)
    async with mirrored(tmp_path) as m:
        assert (await m.get(f"/-/file/{HOST}/files/pkg-1-py3-none-any.whl")).status_code == 502
        assert "cannot be written" in (await m.mirror.outage() or "")
        room = 1 << 30
        assert await m.mirror.outage() is None
    assert files_below(tmp_path) == []


@pytest.mark.parametrize("script", ["fails", "goes on"])
async def test_a_set_up_that_a_registry_failed_is_not_judged(tmp_path: Path, script: str) -> None:
    async with mirrored(tmp_path) as m:
        m.registry.status = 503
        with pytest.raises(RegistryUnavailable, match="status 503"):
            await ask_as_set_up(m, fails=script == "fails")
        assert not m.mirror.stumbled


@pytest.mark.parametrize("script", ["fails", "goes on"])
async def test_a_set_up_that_made_a_registry_stumble_is_in_doubt(
    tmp_path: Path, script: str
) -> None:
    async with mirrored(tmp_path) as m:
        m.registry.stumbles_at = "/simple/odd/"
        with pytest.raises(AppSetupFailed) if script == "fails" else contextlib.nullcontext():
            await ask_as_set_up(m, "/simple/odd/", fails=script == "fails")
        assert m.mirror.stumbled


async def test_who_asks_without_end_is_not_excused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vibench_gym.stack.mirror.MAX_REQUESTS", 3)
    async with mirrored(tmp_path) as m:
        m.registry.status = 429
        with pytest.raises(AppSetupFailed):
            await ask_as_set_up(m, *(f"/simple/made-up-{n}/" for n in range(5)), fails=True)
        assert not m.mirror.stumbled
        assert len(m.registry.asked) == 3


async def ask_as_set_up(m: Mirrored, *paths: str, fails: bool) -> None:
    async with m.mirror.serving_set_up(socket.create_server(("127.0.0.1", 0))):
        for path in paths or ("/simple/pkg/",):
            await m.get(path)
        if fails:
            raise AppSetupFailed("no package")


def test_other_hosts_are_asked_for_their_root() -> None:
    registries = Registries((f"https://{HOST}/simple/",), "https://npm.example/", frozenset())
    assert questions(registries, "files.example:8443") == ["https://files.example:8443/"]
    assert questions(registries, "npm.example") == ["https://npm.example/npm"]
