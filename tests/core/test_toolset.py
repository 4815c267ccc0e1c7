# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A set offers its tools in order and lets no call through that it did not check."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, StringConstraints

from vibench_gym.core.toolset import BadArguments, ElementRef, Parameter, Tool, ToolSet

Ref = Annotated[str, StringConstraints(max_length=9), ElementRef()]


class Paint(Tool):
    """Paint an element."""

    tool_name = "paint"
    ref: Ref
    colors: list[Literal["red", "blue"]] = Field(min_length=1)
    onto_ref: Ref | None = None
    title: str | None = None
    coats: int = 1


class Wipe(Tool):
    """Wipe
    everything."""

    tool_name = "wipe"
    passive = True


TOOLS: ToolSet[Tool] = ToolSet(Paint, Wipe)


def test_the_model_reads_names_docstrings_and_schemas_in_order() -> None:
    assert [spec.name for spec in TOOLS.specs] == ["paint", "wipe"]
    assert [spec.description for spec in TOOLS.specs] == ["Paint an element.", "Wipe\neverything."]
    assert TOOLS.specs[0].parameters["required"] == ["ref", "colors"]
    assert set(TOOLS.specs[0].parameters["properties"]) == set(Paint.model_fields)


def test_a_set_is_gone_through_in_its_order_and_asked_by_name() -> None:
    assert list(TOOLS) == [Paint, Wipe]
    assert TOOLS.get(Wipe.tool_name) is Wipe
    assert TOOLS.get("none") is None


def test_a_call_becomes_the_tool() -> None:
    call = TOOLS.parse("paint", {"ref": "e1", "colors": ["red"]})
    assert call == Paint(ref="e1", colors=["red"])
    assert TOOLS.parse("wipe", {}) == Wipe()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("dry" * 40, {}, f"no tool is called {('dry' * 40)[:60]!r}; there are: paint, wipe"),
        ("wipe", None, "wipe: the arguments are no JSON object"),
        ("wipe", {"x": 1}, "wipe: x: Extra inputs are not permitted"),
        ("paint", {"ref": 1, "colors": []}, "paint: ref: Input should be a valid string; colors:"),
    ],
)
def test_what_is_refused(name: str, arguments: dict[str, object] | None, message: str) -> None:
    with pytest.raises(BadArguments) as caught:
        TOOLS.parse(name, arguments)
    assert str(caught.value).startswith(message)


def test_five_problems_are_told_at_most() -> None:
    with pytest.raises(BadArguments) as caught:
        TOOLS.parse("wipe", {f"x{number}": 1 for number in range(9)})
    assert str(caught.value).count("not permitted") == 5


def test_parameters_say_what_they_take() -> None:
    assert Paint.parameters() == {
        "ref": Parameter(required=True, is_text=True, is_element=True),
        "colors": Parameter(required=True, is_text=True, is_element=False),
        "onto_ref": Parameter(required=False, is_text=True, is_element=True),
        "title": Parameter(required=False, is_text=True, is_element=False),
        "coats": Parameter(required=False, is_text=False, is_element=False),
    }
    assert Wipe.parameters() == {}


def test_a_name_stands_for_one_tool() -> None:
    with pytest.raises(ValueError, match="same name"):
        ToolSet(Wipe, Wipe)
    assert TOOLS.get("wipe") is Wipe
    assert TOOLS.get("dry") is None
