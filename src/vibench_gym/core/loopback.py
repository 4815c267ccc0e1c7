# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Servers on this very host, which no proxy of the operator's may come between.

Most clients ask the proxy that the environment names for them, too, unless NO_PROXY says otherwise;
it answers with an error or asks its own host, and an app or a server of ours seems not to answer.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("localhost", "127.0.0.1", "::1")
"""What `no_proxy` has to name."""


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this one, by name or address."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a program that talks to servers on this host, and to others."""
    given = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    names = [name for name in (part.strip() for part in given.split(",")) if name]
    value = ",".join(dict.fromkeys((*names, *NAMES)))
    return {**environment, "no_proxy": value, "NO_PROXY": value}
