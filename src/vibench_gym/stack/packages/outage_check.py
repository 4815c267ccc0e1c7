# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Checks whether a registry is down, by URLs that no app can influence.

An app may ask for exactly what a registry fails on. So a host that failed a set-up is asked by us
for something that every such host has. Only if that fails, too, is the registry at fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.stack.packages.registries import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vibench_gym.stack.packages.registries import Registries
    from vibench_gym.stack.packages.upstream import Upstream


async def find_outage(
    registries: Registries, upstream: Upstream, hosts: Iterable[str]
) -> str | None:
    """What is wrong with the first of these hosts that is down; None if all work."""
    for host in hosts:
        for url in check_urls(registries, host):
            if (fault := await upstream.fault(url)) is not None:
                return f"{host}: {fault}"
    return None


def check_urls(registries: Registries, host: str) -> list[str]:
    """URLs at a host that answer wherever a registry works."""
    known = [*(f"{index}pip/" for index in registries.python_indexes), f"{registries.npm}npm"]
    here = [url for url in known if host_of(url) == host]
    return here or [f"https://{host}/"]
