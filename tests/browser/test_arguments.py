# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a model is offered, and how its calls are held to it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from vibench_gym.browser.tools.arguments import BY_NAME, TOOL_SPECS, BadArguments, parse_arguments
from vibench_gym.browser.tools.dispatch import ON_BROWSER, ON_PAGE


def test_every_tool_has_a_schema_a_description_and_a_function() -> None:
    for spec in TOOL_SPECS:
        jsonschema.Draft202012Validator.check_schema(dict(spec.parameters))
        assert spec.parameters["type"] == "object"
        assert spec.parameters["additionalProperties"] is False
        assert spec.description.endswith(".")
        json.dumps(spec.parameters)
    done = {model.tool for model in (*ON_PAGE, *ON_BROWSER)} | {"screenshot", "snapshot"}
    assert done == set(BY_NAME)


@pytest.mark.parametrize("ref", ["e1", "f12e345", " e7 "])
def test_refs(ref: str) -> None:
    parse_arguments("click", {"ref": ref})


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
        parse_arguments(name, arguments)
    assert len(str(caught.value)) < 2000
    assert "expected" in str(caught.value) or "there are" in str(caught.value)


@pytest.mark.parametrize("name", ["context_B", "tab_2", "CTX_MANAGER", "user-1", "A"])
def test_names_as_plans_use_them(name: str) -> None:
    parse_arguments("new_context", {"name": name})
    parse_arguments("switch", {"context": name, "tab": name})
