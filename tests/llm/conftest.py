# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A model endpoint that misbehaves, for the tests of clients and of recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.faults.fault_server import Fault, FaultServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable


@pytest.fixture
async def fault_server() -> AsyncGenerator[Callable[..., FaultServer]]:
    """A function that says what the one server of this test answers."""
    async with FaultServer() as server:

        def answering(*answers: Fault) -> FaultServer:
            server.answers[:] = answers
            return server

        yield answering


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's proxy, which is not asked for servers on this host."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
