# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whose fault it is that packages are missing: the app's, a registry's or ours."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from typing import TYPE_CHECKING

import pytest

from support.fake_registry import (
    HOST,
    WHEEL,
    Mirrored,
    files_below,
    mirrored,
)
from vibench_gym.core.errors import AppSetupFailed, RegistryUnavailable
from vibench_gym.stack.packages.outage_check import check_urls
from vibench_gym.stack.packages.registries import Registries
from vibench_gym.stack.packages.upstream import CACHE

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_outage_is_told_from_a_question_that_the_app_did_not_choose(
    tmp_path: Path,
) -> None:
    async with mirrored(tmp_path) as m:
        m.registry.reachable = False
        assert (await m.get("/simple/pkg/")).status_code == 502
        assert f"{HOST}: cannot be reached" in (await m.mirror.outage() or "")
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
        assert await m.mirror.outage() is None


async def test_an_older_answer_at_hand_is_no_outage(tmp_path: Path) -> None:
    async with mirrored(tmp_path, ttl_s=0) as m:
        await m.get("/simple/pkg/")
        m.registry.reachable = False
        assert (await m.get("/simple/pkg/")).status_code == 200
        assert await m.mirror.outage() is None


async def test_a_cache_that_cannot_be_written_is_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with mirrored(tmp_path / "file" / "cache") as m:
        assert (await m.get("/simple/pkg/")).status_code == 502
        assert f"{CACHE}: cannot be written" in (await m.mirror.outage() or "")


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
        assert not m.mirror.recovered


@pytest.mark.parametrize("script", ["fails", "goes on"])
async def test_a_set_up_that_made_a_registry_stumble_needs_a_retry(
    tmp_path: Path, script: str
) -> None:
    async with mirrored(tmp_path) as m:
        m.registry.stumbles_at = "/simple/odd/"
        with pytest.raises(AppSetupFailed) if script == "fails" else contextlib.nullcontext():
            await ask_as_set_up(m, "/simple/odd/", fails=script == "fails")
        assert m.mirror.recovered


async def test_who_asks_without_end_is_not_excused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vibench_gym.stack.packages.mirror.MAX_REQUESTS", 3)
    async with mirrored(tmp_path) as m:
        m.registry.status = 429
        with pytest.raises(AppSetupFailed):
            await ask_as_set_up(m, *(f"/simple/made-up-{n}/" for n in range(5)), fails=True)
        assert not m.mirror.recovered
        assert len(m.registry.asked) == 3


async def ask_as_set_up(m: Mirrored, *paths: str, fails: bool) -> None:
    async with m.mirror.serving_set_up(socket.create_server(("127.0.0.1", 0))):
        for path in paths or ("/simple/pkg/",):
            await m.get(path)
        if fails:
            raise AppSetupFailed("no package")


def test_other_hosts_are_asked_for_their_root() -> None:
    registries = Registries((f"https://{HOST}/simple/",), "https://npm.example/", frozenset())
    assert check_urls(registries, "files.example:8443") == ["https://files.example:8443/"]
    assert check_urls(registries, "npm.example") == ["https://npm.example/npm"]
