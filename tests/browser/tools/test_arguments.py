# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Which arguments the browser's tools take."""

from __future__ import annotations

from typing import Any

import pytest

from vibench_gym.browser.tools.registry import BROWSER_TOOLS
from vibench_gym.core.toolset import BadArguments


@pytest.mark.parametrize("ref", ["e1", "f12e345", " e7 "])
def test_refs(ref: str) -> None:
    BROWSER_TOOLS.parse("click", {"ref": ref})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("click", {"ref": "button"}),
        ("click", {"ref": "e1\ne2"}),
        ("click", None),
        ("new_context", {"name": "../x"}),
        ("new_context", {"name": "a b"}),
        ("open", {"url": ""}),
        ("open", {"url": ["/"]}),
        ("type", {"text": "x" * 6000}),
        ("geolocation", {"latitude": 91, "longitude": 0}),
        ("mouse", {"actions": [{"kind": "teleport"}]}),
        ("mouse", {"actions": [{"kind": "click", "x": float("inf"), "y": 1}]}),
        ("unknown", {}),
    ],
)
def test_what_is_refused(name: str, arguments: dict[str, Any] | None) -> None:
    with pytest.raises(BadArguments) as caught:
        BROWSER_TOOLS.parse(name, arguments)
    assert len(str(caught.value)) < 2000
    assert "expected" in str(caught.value) or "there are" in str(caught.value)


@pytest.mark.parametrize("name", ["context_B", "tab_2", "CTX_MANAGER", "user-1", "A"])
def test_names_as_plans_use_them(name: str) -> None:
    BROWSER_TOOLS.parse("new_context", {"name": name})
    BROWSER_TOOLS.parse("switch", {"context": name, "tab": name})
