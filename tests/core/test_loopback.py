# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Which servers are on this host, and how a program is told to ask them without a proxy."""

from __future__ import annotations

import pytest

from vibench_gym.core.loopback import is_loopback, without_proxy


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.8.0.1", True),
        ("https://[::1]:1/v1", True),
        ("http://10.0.0.1/v1", False),
        ("http://localhost.example/v1", False),
        ("http://127.0.0.1.example/v1", False),
        ("not a URL", False),
        ("http://[::1/v1", False),
        ("", False),
    ],
)
def test_servers_on_this_host(url: str, local: bool) -> None:
    assert is_loopback(url) is local


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({}, "localhost,127.0.0.1,::1"),
        ({"no_proxy": "a.example, localhost"}, "a.example,localhost,127.0.0.1,::1"),
        ({"NO_PROXY": "b.example,"}, "b.example,localhost,127.0.0.1,::1"),
        ({"NO_PROXY": "b.example", "no_proxy": "a.example"}, "a.example,localhost,127.0.0.1,::1"),
    ],
)
def test_what_no_proxy_names_already_stays(given: dict[str, str], value: str) -> None:
    found = without_proxy({**given, "PATH": "/bin"})
    assert found == {"PATH": "/bin", "no_proxy": value, "NO_PROXY": value}
