# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a set-up went without packages because of a registry, by questions that no app chose.

What an app asks for may be whatever makes a registry stumble. So a host that failed it is asked by
us for something that every such host has; only if that fails too was it the registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vibench_gym.stack.registry.registries import Registries
    from vibench_gym.stack.registry.upstream import Upstream


async def outage(registries: Registries, upstream: Upstream, hosts: Iterable[str]) -> str | None:
    """What is wrong with the first of these hosts that works for nobody; None if all work."""
    for host in hosts:
        for url in questions(registries, host):
            if (fault := await upstream.fault(url)) is not None:
                return f"{host}: {fault}"
    return None


def questions(registries: Registries, host: str) -> list[str]:
    """Addresses at a host that answer wherever a registry works."""
    known = [*(f"{index}pip/" for index in registries.python_indexes), f"{registries.npm}npm"]
    here = [url for url in known if host_of(url) == host]
    return here or [f"https://{host}/"]


def host_of(url: str) -> str:
    """`name` or `name:port`, without credentials, in lower case."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()
