# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every browser tool has to be. A new tool is one class and one line in the registry:

1. A class in the module of its family in `browser/tools/`, with one of the bases `PageTool`
   (`OnElement` where it acts on one element), `AnyPageTool` or `LookTool`; its fields are its
   arguments, its docstring is what models read, its work is `run`.
2. Its properties as class variables: see `Tool` and `BrowserTool` for what there is to say.
3. Its line in `browser/tools/registry.py`, at the place where models are to read it.
4. A test in this folder that calls it in a real browser.

Nothing else knows the tool: agents, replay scripts and the fakes ask the registry.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from vibench_gym.browser import tools
from vibench_gym.browser.tools.base import AnyPageTool, BrowserTool, LookTool, PageTool
from vibench_gym.browser.tools.registry import BROWSER_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = "\n".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))

each_tool = pytest.mark.parametrize("tool", tuple(BROWSER_TOOLS), ids=lambda tool: tool.tool_name)


def written_tools(base: type[BrowserTool] = BrowserTool) -> Iterator[type[BrowserTool]]:
    """Every class below the base that can carry something out."""
    for tool in base.__subclasses__():
        if not inspect.isabstract(tool):
            yield tool
        yield from written_tools(tool)


def test_every_tool_that_is_written_is_registered() -> None:
    for module in pkgutil.iter_modules(tools.__path__, f"{tools.__name__}."):
        importlib.import_module(module.name)
    written = {tool for tool in written_tools() if tool.__module__.startswith(tools.__name__)}
    assert written == set(BROWSER_TOOLS)


@each_tool
def test_its_name_is_its_classs(tool: type[BrowserTool]) -> None:
    assert tool.tool_name == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.__name__).lower()
    assert re.fullmatch(r"[a-z_]{1,64}", tool.tool_name), "what endpoints take for a name"


@each_tool
def test_a_model_is_offered_a_description_and_a_schema(tool: type[BrowserTool]) -> None:
    spec = tool.spec()
    assert re.fullmatch(r"[A-Z][^\n]{1,120}\.", spec.description)
    jsonschema.Draft202012Validator.check_schema(dict(spec.parameters))
    assert spec.parameters["type"] == "object"
    assert spec.parameters["additionalProperties"] is False
    json.dumps(spec.parameters)


@each_tool
def test_it_says_when_it_can_run(tool: type[BrowserTool]) -> None:
    bases = [base for base in (PageTool, AnyPageTool, LookTool) if issubclass(tool, base)]
    assert len(bases) == 1


@each_tool
def test_its_properties_agree(tool: type[BrowserTool]) -> None:
    assert not (tool.passive and tool.may_close_page), "what only looks closes nothing"
    assert not tool.may_close_page or issubclass(tool, PageTool), "only page tools are forgiven"
    assert tool.passive or not issubclass(tool, LookTool), "what only looks changes nothing"
    assert not tool.for_shell


@each_tool
def test_elements_are_named_by_refs(tool: type[BrowserTool]) -> None:
    for name, parameter in tool.parameters().items():
        assert parameter.is_element == (name == "ref" or name.endswith("_ref"))


@each_tool
def test_a_test_of_this_folder_uses_it(tool: type[BrowserTool]) -> None:
    call = rf'(?:drive|driven|ok|fails|call|tool)\(\s*"{tool.tool_name}"'
    assert re.search(call, TESTS), f"call {tool.tool_name!r} in a test of tests/browser"
