# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Fetches from package registries through a cache on disk.

Package files never change under their URL and are kept for ever; metadata is kept for a while, then
asked for again, and served stale while its registry cannot be reached, so that a warm cache works
offline. Invariants: an entry appears complete or not at all; bodies are bounded; TLS is verified.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import httpx

from vibench_gym.core.config import GIB, MIB
from vibench_gym.core.durable import write_atomic
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder, work_folder
from vibench_gym.stack.packages.registries import host_of, trust_store

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

MAX_REDIRECTS = 5
CACHE = "this-hosts.cache.invalid"
"""Stands for the cache in the list of hosts that failed."""
FAULT_S = 30.0
DOWN_FOR_S = 60.0
"""How long an unreachable host is not tried again where a stale answer is at hand."""


class UpstreamRefused(Exception):
    """The registry has no such thing (its status), cannot be reached (502) or sent too much.

    `failed_at` is the host where what failed may have nothing to do with what was asked for.
    """

    def __init__(self, status: int, message: str, *, failed_at: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.failed_at = failed_at


@dataclass(frozen=True, slots=True)
class CachedFile:
    """A complete answer on disk."""

    path: Path
    content_type: str
    fetched_at: float
    etag: str | None


class Upstream:
    """A cached client of package registries; shared by all mirrors of a process."""

    def __init__(
        self,
        cache: Path,
        *,
        ttl_s: float = 600.0,
        max_file_bytes: int = 2 * GIB,
        max_page_bytes: int = 128 * MIB,
        max_cache_bytes: int = 20 * GIB,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._cache = cache
        self._ttl_s = ttl_s
        self._max_file_bytes = max_file_bytes
        self._max_page_bytes = max_page_bytes
        self._max_cache_bytes = max_cache_bytes
        self._client = client
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._down_until: dict[str, float] = {}
        self._lacking = MIB
        """Room that there has to be before the cache is believed to work."""

    async def __aenter__(self) -> Self:
        """Drop the oldest files where the cache has outgrown its size."""
        await asyncio.to_thread(self._prune)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close connections; the cache stays."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def file(self, url: str) -> CachedFile:
        """A package file: from the cache for ever.

        Raises:
            UpstreamRefused: the registry does not give it.
        """
        return await self._get(url, accept="*/*", ttl_s=None, limit=self._max_file_bytes)

    async def page(self, url: str, *, accept: str) -> CachedFile:
        """An index page or packument, at most `ttl_s` old unless its registry is unreachable.

        Raises:
            UpstreamRefused: the registry does not give it and no older answer is at hand.
        """
        return await self._get(url, accept=accept, ttl_s=self._ttl_s, limit=self._max_page_bytes)

    async def fault(self, url: str) -> str | None:
        """What is wrong with the answer of an address, asked for past the cache; None if nothing.

        For `CACHE` as host: what is wrong with the cache.
        """
        if host_of(url) == CACHE:
            return await asyncio.to_thread(_unwritable, self._cache, self._lacking)
        try:
            async with asyncio.timeout(FAULT_S), self._http().stream("GET", url) as response:
                status = response.status_code
        except TimeoutError:
            return f"does not answer within {FAULT_S:g} s"
        except httpx.HTTPError as error:
            return f"cannot be reached: {error!r}"
        return f"answers with status {status}" if _overloaded(status) else None

    async def _get(self, url: str, *, accept: str, ttl_s: float | None, limit: int) -> CachedFile:
        base = self._entry(url, accept)
        async with self._locks[base.name]:
            found = await asyncio.to_thread(_load, base)
            host = httpx.URL(url).host
            if found is not None:
                fresh = ttl_s is None or time.time() - found.fetched_at < ttl_s
                if fresh or self._down_until.get(host, 0.0) > time.monotonic():
                    return found
            try:
                return await self._fetch(url, accept, base, found, limit)
            except httpx.HTTPError as error:
                self._down_until[host] = time.monotonic() + DOWN_FOR_S
                if found is not None:
                    return found
                text = f"{host} cannot be reached: {error!r}"
                raise UpstreamRefused(502, text, failed_at=host_of(url)) from error
            except OSError as error:
                text = f"an answer cannot be kept: {error}"
                raise UpstreamRefused(502, text, failed_at=CACHE) from error
            except UpstreamRefused as refused:
                if found is not None and refused.status >= httpx.codes.INTERNAL_SERVER_ERROR:
                    return found
                raise

    async def _fetch(
        self, url: str, accept: str, base: Path, found: CachedFile | None, limit: int
    ) -> CachedFile:
        headers = {"Accept": accept, "Accept-Encoding": "gzip"}
        if found is not None and found.etag:
            headers["If-None-Match"] = found.etag
        for _ in range(MAX_REDIRECTS + 1):
            async with self._http().stream("GET", url, headers=headers) as response:
                if response.status_code == httpx.codes.NOT_MODIFIED and found is not None:
                    return await asyncio.to_thread(
                        _write_meta, base, found.content_type, found.etag
                    )
                if response.has_redirect_location:
                    url = _same_host_redirect(response)
                    continue
                if response.status_code != httpx.codes.OK:
                    status = response.status_code
                    raise UpstreamRefused(
                        status,
                        f"{response.url.host} answered {status}",
                        failed_at=host_of(url) if _overloaded(status) else None,
                    )
                return await self._keep(response, base, limit)
        raise UpstreamRefused(502, "redirected without end")

    async def _keep(self, response: httpx.Response, base: Path, limit: int) -> CachedFile:
        await asyncio.to_thread(base.parent.mkdir, parents=True, exist_ok=True)
        size = 0
        try:
            async with work_folder("part", base.parent) as folder:
                part = folder / "body"
                with part.open("wb") as file:
                    async for chunk in response.aiter_bytes(MIB):
                        size += len(chunk)
                        _check_size(size, limit)
                        file.write(chunk)
                # Body first: an entry exists once its metadata does.
                part.rename(base.with_suffix(".body"))
        except OSError:
            self._lacking = max(self._lacking, size + MIB)
            raise
        content_type = response.headers.get("content-type", "")
        return _write_meta(base, content_type, response.headers.get("etag"))

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                verify=trust_store(),
                timeout=httpx.Timeout(60.0, connect=10.0),
                limits=httpx.Limits(max_connections=32),
                follow_redirects=False,
            )
        return self._client

    def _entry(self, url: str, accept: str) -> Path:
        digest = hashlib.sha256(f"{accept}\n{url}".encode()).hexdigest()
        return self._cache / digest[:2] / digest

    def _prune(self) -> None:
        files = [p for p in self._cache.glob("*/*") if p.is_file()]
        stats = sorted((p.stat().st_mtime, p.stat().st_size, p) for p in files)
        excess = sum(size for _, size, _ in stats) - self._max_cache_bytes
        for _, size, path in stats:
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size


def _overloaded(status: int) -> bool:
    """Whether a status says that the host, and not the question, is at fault."""
    return status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.TOO_MANY_REQUESTS


def _unwritable(cache: Path, size: int) -> str | None:
    """Why a file of so many bytes cannot be kept; None if it can."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with WorkFolder("probe", cache) as folder, (folder / "probe").open("xb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        return f"cannot be written: {error}"
    return None


def _same_host_redirect(response: httpx.Response) -> str:
    target = response.url.join(response.headers["location"])
    if target.host != response.url.host or target.scheme != response.url.scheme:
        raise UpstreamRefused(502, f"redirected to another host: {target.host}")
    return str(target)


def _load(base: Path) -> CachedFile | None:
    body = base.with_suffix(".body")
    try:
        meta = json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    try:
        whole = body.stat().st_size == meta.get("size", body.stat().st_size)
    except OSError:
        return None
    if not whole:  # the host lost power before the body was on the disk
        return None
    return CachedFile(body, str(meta["content_type"]), float(meta["fetched_at"]), meta["etag"])


def _write_meta(base: Path, content_type: str, etag: str | None) -> CachedFile:
    now = time.time()
    body = base.with_suffix(".body")
    size = body.stat().st_size
    meta = {"content_type": content_type, "fetched_at": now, "etag": etag, "size": size}
    # Not synced: a set-up waits for hundreds of these, and what is lost is fetched again.
    write_atomic(base.with_suffix(".json"), json.dumps(meta), lasting=False)
    return CachedFile(body, content_type, now, etag)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise UpstreamRefused(502, f"answer is larger than {limit} bytes")
