# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The mirror before a registry of our own, over real sockets on loopback."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import httpx
import pytest

from support.fake_registry import (
    HOST,
    WHEEL,
    FakeRegistry,
    files_below,
    mirrored,
)
from vibench_gym.stack.packages import tunnel
from vibench_gym.stack.packages.http_wire import Request, read_request, send_response
from vibench_gym.stack.packages.index_pages import JSON_TYPE
from vibench_gym.stack.packages.mirror import Mirror
from vibench_gym.stack.packages.refusals import MAX_NAMES
from vibench_gym.stack.packages.registries import Registries
from vibench_gym.stack.packages.upstream import Upstream, UpstreamRefused

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal


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
    async with mirrored(tmp_path, FakeRegistry(html_only=True)) as m:
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
    registry = FakeRegistry()
    for _ in range(2):
        async with mirrored(tmp_path, registry) as m:
            await asyncio.gather(*(m.get("/left-pad/-/x-1.0.0.tgz") for _ in range(5)))
            await asyncio.gather(*(m.get("/simple/pkg/") for _ in range(5)))
    assert len(registry.asked) == 2


async def test_old_pages_are_asked_for_again_by_tag(tmp_path: Path) -> None:
    registry = FakeRegistry(etag='"v1"')
    async with mirrored(tmp_path, registry, ttl_s=0) as m:
        first = await m.get("/simple/pkg/")
        assert (await m.get("/simple/pkg/")).text == first.text
    assert len(registry.asked) == 2


@pytest.mark.parametrize("failure", ["unreachable", "500"])
async def test_stale_pages_serve_while_the_registry_is_down(tmp_path: Path, failure: str) -> None:
    registry = FakeRegistry()
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
        assert m.mirror.refusals.requests == {"PUT": 1, "POST": 1, "DELETE": 1, "PATCH": 1}
        assert m.mirror.blocked_hosts == {}


async def test_count_of_refused_methods_is_bounded(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as m:
        for n in range(MAX_NAMES + 20):
            await m.raw(
                f"{'X' * 30}{n} / HTTP/1.1\nHost: x\n\n" if n < 3 else f"M{n} / HTTP/1.0\n\n"
            )
        counted = m.mirror.refusals.requests
        assert counted["X" * 20] == 3
        assert len(counted) == MAX_NAMES


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
            "CONNECT evil.example:443 HTTP/1.1\nHost: x\n\n",
            "GET http://evil.example/x HTTP/1.1\nHost: evil.example\n\n",
            "POST http://other.example/x HTTP/1.1\nHost: x\n\n",
            "CONNECT [::1]:5432 HTTP/1.1\nHost: x\n\n",
            "CONNECT a\\b HTTP/1.1\nHost: x\n\n",
            "GET /-/file/files.example/x HTTP/1.1\nHost: x\n\n",
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
            await m.raw(f"CONNECT h{n}.example:443 HTTP/1.1\nHost: x\n\n")
        assert len(m.mirror.blocked_hosts) == 200


@pytest.mark.parametrize("egress", ["open", "registries"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.1.1", "10.1.2.3", "[::1]"])
async def test_no_tunnel_leads_to_this_host_or_its_network(
    tmp_path: Path, host: str, egress: Literal["open", "registries"]
) -> None:
    extra = frozenset({host.strip("[]")})
    async with mirrored(tmp_path, egress=egress, extra_hosts=extra) as m:
        for text in (
            f"CONNECT {host}:80 HTTP/1.1\nHost: x\n\n",
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
        through = await m.raw(
            f"CONNECT far.example:{port} HTTP/1.1\nHost: x\n\nHEAD /h HTTP/1.1\nA: b\n\n"
        )
        assert through.startswith(b"HTTP/1.1 200 Connection established")
        assert b"\r\n\r\nHTTP/1.1 200 OK" in through
        far.close()
        await far.wait_closed()
        gone = await m.raw(f"CONNECT far.example:{port} HTTP/1.1\nHost: x\n\n")
        assert b" 502 " in gone
        assert m.mirror.blocked_hosts == {}


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
    client = httpx.AsyncClient(transport=httpx.MockTransport(FakeRegistry()))
    async with Upstream(tmp_path, client=client) as upstream:
        await upstream.file(f"https://{HOST}/files/pkg-1-py3-none-any.whl")
        await upstream.file(f"https://{HOST}/npm/a/-/a.tgz")
    async with Upstream(tmp_path, max_cache_bytes=len(WHEEL) - 1):
        left = sum(p.stat().st_size for p in files_below(tmp_path))
    assert left < len(WHEEL)


async def test_a_broken_cache_entry_is_fetched_again(tmp_path: Path) -> None:
    registry = FakeRegistry()
    async with mirrored(tmp_path, registry) as m:
        await m.get("/left-pad")
        for file in files_below(tmp_path):
            if file.suffix == ".json":
                file.write_text("{")
        assert (await m.get("/left-pad")).status_code == 200
    assert len(registry.asked) == 2


@pytest.mark.parametrize("left", [0, 10])
async def test_a_package_that_a_power_cut_shortened_is_fetched_again(
    tmp_path: Path, left: int
) -> None:
    async with mirrored(tmp_path) as m:
        for _ in range(2):
            assert (await m.get("/left-pad")).status_code == 200
        whole = (await m.get("/left-pad")).content
        (body,) = (file for file in files_below(tmp_path) if file.suffix == ".body")
        body.write_bytes(body.read_bytes()[:left])
        assert (await m.get("/left-pad")).content == whole
    assert len(m.registry.asked) == 2


async def test_unreachable_without_a_cache_is_said(tmp_path: Path) -> None:
    client = httpx.AsyncClient(transport=httpx.MockTransport(FakeRegistry(reachable=False)))
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
