# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The one way out of an app's zone, while set-up runs: a mirror of the package registries.

It reads (GET, HEAD) and never writes, fetches from the registries' hosts only, and counts what it
refuses. Layout as clients see it:

    /simple/NAME/            Python's simple index      /-/file/HOST/PATH   a package file
    /NAME, /@SCOPE/NAME      npm packuments             /NAME/-/FILE.tgz    an npm tarball

It is also the zone's HTTP proxy: CONNECT, and requests for a URL of another host, are refused at
once instead of hanging, unless the operator opened set-up's egress.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from h11 import LocalProtocolError

from vibench_gym.core.config import GIB
from vibench_gym.core.errors import AppSetupFailed, RegistryUnavailable
from vibench_gym.core.loopback import NAMES
from vibench_gym.stack.packages import index_pages, tunnel
from vibench_gym.stack.packages.client_connection import BadRequest, ClientConnection
from vibench_gym.stack.packages.client_environment import client_environment
from vibench_gym.stack.packages.outage_check import find_outage
from vibench_gym.stack.packages.refusals import MALFORMED, OVER_LIMIT, Refusals
from vibench_gym.stack.packages.registries import host_of
from vibench_gym.stack.packages.upstream import Upstream, UpstreamRefused
from vibench_gym.stack.socket_server import serving

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Mapping
    from typing import Literal

    from vibench_gym.stack.packages.http_wire import Request
    from vibench_gym.stack.packages.registries import Registries
    from vibench_gym.stack.packages.upstream import CachedFile

MIRROR_PORT = 3141
MAX_CONNECTIONS = 256
MAX_REQUESTS = 10_000
"""Of one set-up. A tree of 1,500 npm packages takes 3,000; an app that asks for more may well be
refused by a registry for that, which is no excuse."""
IDLE_S = 60.0
BODY_S = 60.0
_SAFE_PATH = re.compile(r"/[A-Za-z0-9@%._~!$'()*+,;:=/-]*")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PROJECT = re.compile(r"/simple/([A-Za-z0-9._-]+)/?")
_JSON_FIRST = f"{index_pages.JSON_TYPE}, text/html;q=0.5"


class Mirror:
    """One set-up's view of the registries; counts what that set-up was refused."""

    def __init__(
        self,
        registries: Registries,
        upstream: Upstream,
        *,
        egress: Literal["registries", "open"] = "registries",
        extra_hosts: frozenset[str] = frozenset(),
        max_bytes: int = 8 * GIB,
    ) -> None:
        self._registries = registries
        self._upstream = upstream
        self._open = egress == "open"
        self._extra_hosts = frozenset(host.lower() for host in extra_hosts)
        self._bytes_left = max_bytes
        self._base = f"http://127.0.0.1:{MIRROR_PORT}/"
        self._origins = {
            host_of(url): "{0.scheme}://{0.netloc}".format(urlsplit(url))
            for url in (*registries.python_indexes, registries.npm)
        }
        self.refusals = Refusals()
        self._failed_hosts: set[str] = set()
        """Registries that failed a request of this set-up with no older answer at hand."""
        self._asked = 0
        self.recovered = False
        """Something failed this set-up that works now: the registry, or our cache."""
        self._connections = asyncio.Semaphore(MAX_CONNECTIONS)

    @property
    def blocked_hosts(self) -> Mapping[str, int]:
        """Hosts that were asked for and refused, with the number of times."""
        return self.refusals.hosts

    async def outage(self) -> str | None:
        """What is wrong with a host that failed this set-up; None if all that failed work now."""
        return await find_outage(self._registries, self._upstream, sorted(self._failed_hosts))

    @property
    def env(self) -> dict[str, str]:
        """What points package clients, and everything else that honours a proxy, here."""
        return client_environment(self._base)

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Answer on a listening socket (made inside the zone) until left."""
        async with serving(self._connection, listener):
            yield

    @contextlib.asynccontextmanager
    async def serving_set_up(self, listener: socket.socket) -> AsyncIterator[None]:
        """As `serving`, around a set-up script; then find out whether a registry failed it.

        However the script took that: it may have gone on without its packages.

        Raises:
            RegistryUnavailable: a registry failed it, and fails us, too.
        """
        async with self.serving(listener):
            try:
                yield
            except AppSetupFailed:
                await self._raise_if_down()
                raise
        await self._raise_if_down()

    async def _raise_if_down(self) -> None:
        if self._failed_hosts and self._asked <= MAX_REQUESTS:
            if (fault := await self.outage()) is not None:
                raise RegistryUnavailable(f"set-up was refused packages: {fault}")
            self.recovered = True

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = ClientConnection(reader, writer)
        try:
            await self._requests(client, reader, writer)
            await client.leave()
        finally:
            writer.close()

    async def _requests(
        self,
        client: ClientConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        try:
            if self._connections.locked():
                await client.respond(503, b"too many connections\n", close=True)
                return
            async with self._connections:
                while await self._exchange(client, reader, writer):
                    pass
        except BadRequest as bad:
            self.refusals.request(MALFORMED)
            with contextlib.suppress(OSError, TimeoutError, LocalProtocolError):
                await client.respond(bad.status, f"{bad}\n".encode(), close=True)
        except (OSError, TimeoutError, LocalProtocolError):
            pass  # the client left, or a file changed while it was sent

    async def _exchange(
        self,
        client: ClientConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """One request; whether the connection can be used again."""
        request = await asyncio.wait_for(client.next_request(), IDLE_S)
        if request is None:
            return False
        foreign = request.method == "CONNECT" or _ABSOLUTE.match(request.target)
        if foreign and not self._is_here(request):
            host, port = tunnel.authority(request)
            if self._open or host in self._extra_hosts:
                await tunnel.relay(request, client.rest(), reader, writer, host=host, port=port)
                return False
            self.refusals.host(host)
            text = f"{host} is not a package registry; set-up reaches nothing else\n"
            return await client.respond(403, text.encode(), close=True)
        if request.method not in ("GET", "HEAD"):
            self.refusals.request(request.method)
            return await client.respond(405, b"only GET and HEAD\n", close=True)
        self._asked += 1
        if self._asked > MAX_REQUESTS:
            self.refusals.request(OVER_LIMIT)
            return await client.respond(403, b"this set-up has asked for enough\n", close=True)
        await client.skip_body(BODY_S)
        return await self._serve(client, request)

    async def _serve(self, client: ClientConnection, request: Request) -> bool:
        try:
            content_type, body = await self._answer(request)
        except UpstreamRefused as refused:
            if refused.failed_at is not None:
                self._failed_hosts.add(refused.failed_at)
            # A registry's status may be one that has no body, or promises what does not come.
            status = refused.status if refused.status >= HTTPStatus.BAD_REQUEST else 502
            return await client.respond(status, f"{refused}\n".encode())
        size = len(body) if isinstance(body, bytes) else body.path.stat().st_size
        self._bytes_left -= size
        if self._bytes_left < 0:
            self.refusals.request(OVER_LIMIT)
            return await client.respond(403, b"this set-up has downloaded enough\n", close=True)
        content = body if isinstance(body, bytes) else body.path
        return await client.respond(200, content, content_type=content_type)

    def _is_here(self, request: Request) -> bool:
        """Whether a URL is the mirror's own: some clients send those to a proxy, too."""
        host, port = tunnel.authority(request)
        return request.method != "CONNECT" and host in NAMES and port == MIRROR_PORT

    async def _answer(self, request: Request) -> tuple[str, bytes | CachedFile]:
        path = urlsplit(request.target).path if _ABSOLUTE.match(request.target) else request.target
        path = path.partition("?")[0] or "/"
        # Queries are dropped: a set-up must not fill the cache with endless spellings of one page.
        if not _SAFE_PATH.fullmatch(path) or ".." in unquote(path).split("/"):
            raise UpstreamRefused(400, "no such path")
        if match := _PROJECT.fullmatch(path):
            return await self._simple(match[1], request.headers.get("accept", ""))
        if path.startswith("/-/file/"):
            host, _, rest = path.removeprefix("/-/file/").partition("/")
            return await self._file(host.lower(), rest)
        if path.startswith("/-/") or path in ("/", "/simple/"):
            raise UpstreamRefused(404, "the mirror serves packages only")
        return await self._npm(path, request.headers.get("accept", ""))

    async def _simple(self, project: str, accept: str) -> tuple[str, bytes]:
        name = re.sub(r"[-_.]+", "-", project).lower()
        last = UpstreamRefused(404, "no Python index is configured")
        for index in self._registries.python_indexes:
            url = f"{index}{name}/"
            try:
                page = await self._upstream.page(url, accept=_JSON_FIRST)
            except UpstreamRefused as refused:
                # That an index is out of reach says more than that another lacks the project.
                if last.status == HTTPStatus.NOT_FOUND:
                    last = refused
                continue
            return await asyncio.to_thread(self._render_simple, page, url, accept)
        raise last

    def _render_simple(self, page: CachedFile, url: str, accept: str) -> tuple[str, bytes]:
        raw = page.path.read_bytes()
        try:
            if "json" not in page.content_type:
                return index_pages.HTML_TYPE, index_pages.simple_html(raw, url, self._route)
            if index_pages.JSON_TYPE in accept:
                return index_pages.JSON_TYPE, index_pages.simple_json(raw, url, self._route)
            return index_pages.HTML_TYPE, index_pages.simple_html_from_json(raw, url, self._route)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UpstreamRefused(502, f"the index sent an odd page: {error!r}") from error

    async def _file(self, host: str, rest: str) -> tuple[str, CachedFile]:
        if host not in self._registries.file_hosts:
            self.refusals.host(host[:253])
            raise UpstreamRefused(403, f"{host} is not a package registry")
        origin = self._origins.get(host, f"https://{host}")
        file = await self._upstream.file(f"{origin}/{rest}")
        return file.content_type or "application/octet-stream", file

    async def _npm(self, path: str, accept: str) -> tuple[str, bytes | CachedFile]:
        registry = self._registries.npm
        url = registry + path.removeprefix("/")
        if "/-/" in path:
            return "application/octet-stream", await self._upstream.file(url)
        abbreviated = "application/vnd.npm.install-v1+json"
        wanted = abbreviated if abbreviated in accept else "application/json"
        page = await self._upstream.page(url, accept=wanted)
        return wanted, await asyncio.to_thread(self._render_packument, page)

    def _render_packument(self, page: CachedFile) -> bytes:
        try:
            return index_pages.packument(
                page.path.read_bytes(), self._registries.npm, self._route_npm
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UpstreamRefused(502, f"the registry sent an odd page: {error!r}") from error

    def _route(self, url: str) -> str | None:
        """The mirror's URL for a package file, or None where its host may not be fetched."""
        parts = urlsplit(url)
        host = host_of(url)
        if parts.scheme not in ("http", "https") or host not in self._registries.file_hosts:
            return None
        return f"{self._base}-/file/{host}{parts.path}"

    def _route_npm(self, url: str) -> str | None:
        if url.startswith(self._registries.npm):
            return self._base + url.removeprefix(self._registries.npm)
        return self._route(url)
