# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, one per module, and a tiny site whose pages each test writes itself."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
import pytest_asyncio

from vibench_gym.browser.base import BrowserLaunch
from vibench_gym.browser.session import PlaywrightBrowser
from vibench_gym.core.config import BrowserConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator

    from vibench_gym.browser.base import Observation


@dataclass
class Reply:
    body: bytes | str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    stream: bool = False
    """Leave the answer open, as event streams and long polls do."""


type Route = Reply | Callable[[bytes], Reply]


class Site:
    """`site.show(html)` makes a page and gives its address; `site.routes` holds everything else."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.requests: list[str] = []
        self.ending = threading.Event()
        self._pages = 0
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.answer(self)

            do_POST = do_GET  # noqa: N815 - http.server's name

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://localhost:{self._server.server_port}"

    def reply(self, path: str, body: bytes | str = "", **rest: Any) -> None:
        """Say how a path is answered."""
        self.routes[path] = Reply(body, **rest)

    def delay(self, path: str, seconds: float) -> None:
        """Answer a path that is there already later."""
        route = self.routes[path]
        assert isinstance(route, Reply)
        self.routes[path] = replace(route, delay_s=seconds)

    def show(self, html: str, title: str = "test") -> str:
        self._pages += 1
        path = f"/page-{self._pages}"
        self.routes[path] = Reply(f"<!doctype html><title>{title}</title><body>{html}")
        return path

    def close(self) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        self.requests.append(handler.path)
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        route = self.routes.get(path, Reply("not here", status=404))
        reply = route(body) if callable(route) else route
        self.ending.wait(reply.delay_s)
        try:
            self._send(handler, reply)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        content = reply.body.encode() if isinstance(reply.body, str) else reply.body
        key = handler.headers.get("sec-websocket-key")
        if key:
            digest = hashlib.sha1(  # noqa: S324 - the protocol's
                (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()
            ).digest()
            reply = Reply(
                status=101,
                stream=True,
                headers={
                    "upgrade": "websocket",
                    "connection": "Upgrade",
                    "sec-websocket-accept": base64.b64encode(digest).decode(),
                },
            )
        handler.send_response(reply.status)
        for name, value in {"content-type": "text/html; charset=utf-8", **reply.headers}.items():
            handler.send_header(name, value)
        if not reply.stream:
            handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        handler.wfile.flush()
        if reply.stream:
            handler.close_connection = True
            self.ending.wait(60)


class Drive:
    """Calls tools by element names instead of refs, and keeps the last observation."""

    def __init__(self, browser: PlaywrightBrowser, site: Site, folder: Path) -> None:
        self.browser = browser
        self.site = site
        self.folder = folder
        self.last: Observation

    async def __call__(self, tool: str, on: str | None = None, **arguments: Any) -> Observation:
        if on is not None:
            arguments["ref"] = self.ref(on)
        self.last = await self.browser.call(tool, arguments)
        return self.last

    async def ok(self, tool: str, on: str | None = None, **arguments: Any) -> Observation:
        observation = await self(tool, on, **arguments)
        assert not observation.is_error, observation.text
        return observation

    async def fails(self, tool: str, on: str | None = None, **arguments: Any) -> str:
        observation = await self(tool, on, **arguments)
        assert observation.is_error, observation.text
        first = observation.text.partition("\n")[0]
        assert first.startswith("Result: error: ")
        return first.removeprefix("Result: error: ")

    async def show(self, html: str, title: str = "test") -> Observation:
        return await self.ok("open", url=self.site.show(html, title))

    def ref(self, name: str) -> str:
        found = re.search(rf"- {re.escape(name)}(?: \[[^\]]*\])*? \[ref=(\w+)\]", self.last.text)
        assert found, f"no {name} in\n{self.last.text}"
        return found[1]

    @property
    def snapshot(self) -> str:
        return self.last.text.partition("\nSnapshot:\n")[2]


QUICK = BrowserConfig(
    settle_quiet_s=0.15,
    settle_max_s=1.0,
    action_timeout_s=2.0,
    navigation_timeout_s=5.0,
    max_contexts=60,
    max_tabs=12,
    max_download_bytes=200_000,
    viewport_width=900,
    viewport_height=600,
)


def chromium() -> Path:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    assert found
    return Path(found)


class Start(Protocol):
    """Starts a browser of the test's own."""

    def __call__(
        self,
        site: Site,
        folder: Path,
        config: BrowserConfig = ...,
        base_url: str | None = None,
        executable: Path | None = None,
    ) -> Awaitable[PlaywrightBrowser]: ...


async def start_browser(
    site: Site,
    folder: Path,
    config: BrowserConfig = QUICK,
    base_url: str | None = None,
    executable: Path | None = None,
) -> PlaywrightBrowser:
    assets = folder / "assets"
    (assets / "deep").mkdir(parents=True, exist_ok=True)
    (assets / "photo.png").write_bytes(b"\x89PNG not really")
    (assets / "deep" / "list.csv").write_text("a,b\n1,2\n")
    (assets / "link.txt").unlink(missing_ok=True)
    (assets / "link.txt").symlink_to("/etc/passwd")
    return await PlaywrightBrowser.launch(
        BrowserLaunch(
            executable=executable or chromium(),
            base_url=base_url or f"{site.url}/",
            screenshots_dir=folder / "screenshots",
            downloads_dir=folder / "downloads",
            assets_dir=assets,
            trace_path=folder / "trace.zip",
        ),
        config=config,
        chromium_sandbox=False,
    )


@pytest.fixture
def start() -> Start:
    return start_browser


@pytest.fixture
def driving() -> type[Drive]:
    """To drive a browser of the test's own."""
    return Drive


@pytest.fixture
def chromium_path() -> Path:
    return chromium()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    served = Site()
    yield served
    served.close()


@pytest.fixture(scope="module")
def browser_config() -> BrowserConfig:
    """The settings of the module's browser; a module may have its own."""
    return QUICK


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    site: Site, tmp_path_factory: pytest.TempPathFactory, browser_config: BrowserConfig
) -> AsyncIterator[tuple[PlaywrightBrowser, Path]]:
    folder = tmp_path_factory.mktemp("browser")
    browser = await start_browser(site, folder, browser_config)
    yield browser, folder
    await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def drive(shared: tuple[PlaywrightBrowser, Path], site: Site) -> Drive:
    """The module's browser, back in its first context."""
    browser, folder = shared
    driven = Drive(browser, site, folder)
    if browser._pages.context_state.name != "context_A":
        await driven("switch", context="context_A")
    return driven
