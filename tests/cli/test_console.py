# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What is printed is text, whoever wrote it: no terminal obeys it, and it forges no line."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import vibench_gym.cli
from vibench_gym.cli import console
from vibench_gym.cli.console import Progress, ShownConsole, shown

FORGED = "Shop\x1b[2J\x1b[H\x9b31m\x07\u202e[bold]x[/bold]\nAll plans passed: 1.000"
CLI = Path(vibench_gym.cli.__file__).parent


def printed(renderable: object, *, terminal: bool) -> str:
    out = io.StringIO()
    ShownConsole(file=out, force_terminal=terminal, markup=False, highlight=False).print(renderable)
    return out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("by", [str, Text, shown])
def test_no_console_passes_control_characters_on(by: type, *, terminal: bool) -> None:
    text = printed(by(FORGED), terminal=terminal)
    assert "\x1b[2J" not in text
    assert not set(text) & set("\x07\x9b\u202e")
    assert "Shop\\u001b[2J\\u001b[H\\u009b31m" in text
    assert "[bold]x[/bold]" in text


def test_styles_of_ours_are_still_sent() -> None:
    assert "\x1b[31m" in printed(shown("bad", style="red"), terminal=True)


def test_cells_of_a_table_are_measured_as_they_are_shown() -> None:
    table = Table("title", "more", box=None)
    table.add_row(shown("a\x1b[2Jb"), shown("end"))
    lines = printed(table, terminal=False).splitlines()
    assert lines[1].split() == ["a\\u001b[2Jb", "end"]
    assert lines[0].index("more") == lines[1].index("end")


def test_progress_is_lines_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(console, "ERR", ShownConsole(file=out, markup=False, width=500))
    with Progress() as progress:
        progress.now(f"app mvp-test1: in doubt: {FORGED}")
        progress.done(FORGED)
    lines = out.getvalue().splitlines()
    assert [line[:4] for line in lines] == ["app ", "  | ", "Shop", "  | "]
    assert "\x1b" not in out.getvalue()


def test_no_command_prints_past_the_consoles() -> None:
    """Text is made by `shown`; a string may be printed where it is all ours."""
    for path in CLI.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {func.id for func in called if isinstance(func, ast.Name)}
        assert "print" not in names, path.name
        assert path.name == "console.py" or not names & {"Text", "Console"}, path.name
        methods = {func.attr for func in called if isinstance(func, ast.Attribute)}
        assert not methods & {"model_dump_json", "echo"}, path.name
