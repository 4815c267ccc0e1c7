# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots as Chromium and Playwright really write them, and the locators that read them."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.async_api import async_playwright

from vibench_gym.llm.replay.script.snapshot import (
    Locator,
    LocatorSyntax,
    find,
    parse_snapshot,
    snapshot_of,
)

# Written by Playwright 1.65 for a page made of awkward names.
REAL = r"""
- generic [ref=e1]:
  - 'heading "Shopping \"list\": a\\b" [level=1] [ref=e2]'
  - list [ref=e3]:
    - listitem [ref=e4]:
      - text: Milk
      - button "Delete" [ref=e5]
    - listitem [ref=e6]:
      - text: "Bread: x"
      - button "Delete" [ref=e7]
    - listitem [ref=e8]: Eggs 3
  - generic [ref=e9]:
    - text: Name
    - textbox "Name" [active] [ref=e10]: "a: b"
  - 'button "Save: \"it\" now" [disabled] [ref=e13]'
  - button "a 'b' [c]" [ref=e14]
  - checkbox "done" [checked] [ref=e15]
  - combobox "S" [ref=e16]:
    - option "one"
    - option "two" [selected]
  - 'link "it''s # one" [ref=e17] [cursor=pointer]':
    - /url: /x?y=1#z
  - textbox [ref=e28]: "multi line: text"
  - iframe [ref=e29]:
    - generic [ref=f1e1]:
      - button "In frame" [ref=f1e2]
  - paragraph
  - generic [ref=e38] [cursor=pointer]: click div
  - button "back \\ slash" [ref=e42]
  [... cut: 3 more characters]
"""


def ref(locator: str, *, near: str | None = None, nth: int = 1, text: str = REAL) -> str | None:
    return find(Locator.parse(locator, near=near, nth=nth), text).ref


@pytest.mark.parametrize(
    ("locator", "expected"),
    [
        (r'heading "Shopping \"list\": a\\b"', "e2"),
        ('textbox "Name"', "e10"),
        (r'button "Save: \"it\" now"', "e13"),
        ("button \"a 'b' [c]\"", "e14"),
        ('checkbox "done"', "e15"),
        ("combobox", "e16"),
        ('link "it\'s # one"', "e17"),
        ('button "In frame"', "f1e2"),
        ('listitem "Eggs 3"', "e8"),
        ('generic "click div"', "e38"),
        (r'button "back \\ slash"', "e42"),
        ("button /^Save/", "e13"),
        ("heading", "e2"),
    ],
)
def test_finds_what_chromium_shows(locator: str, expected: str) -> None:
    assert ref(locator) == expected


def test_a_name_is_exact() -> None:
    assert ref('button "Del"') is None
    assert ref('textbox "a: b"') is None  # what a field holds is not its name


def test_near_takes_the_smallest_subtree_with_the_text() -> None:
    assert ref('button "Delete"') == "e5"
    assert ref('button "Delete"', near="Bread: x") == "e7"
    assert ref('button "Delete"', near="/^Bread/") == "e7"
    assert ref('button "Delete"', near="Milk") == "e5"
    assert ref('button "Delete"', near="Cheese") is None


def test_nth_counts_from_one() -> None:
    assert ref('button "Delete"', nth=2) == "e7"
    found = find(Locator.parse('button "Delete"', nth=3), REAL)
    assert found.ref is None
    assert "only 2 of" in found.reason


def test_says_what_is_there_instead() -> None:
    reason = find(Locator.parse('button "Save"'), REAL).reason
    assert reason.startswith('no button "Save" in the snapshot; buttons there: "Delete", "Delete"')
    assert "no slider at all; roles there:" in find(Locator.parse("slider"), REAL).reason
    assert "no text 'X'" in find(Locator.parse("button", near="X"), REAL).reason


def test_an_element_without_a_ref_cannot_be_acted_upon() -> None:
    assert "no ref" in find(Locator.parse('option "one"'), REAL).reason


def test_long_lists_are_cut() -> None:
    many = "\n".join(f'- button "b{number}" [ref=e{number}]' for number in range(30))
    assert "and 22 more" in find(Locator.parse('button "x"'), many).reason


@pytest.mark.parametrize(
    "text", ["", "Button", 'button "open', 'button Save "x"', "button /(/", '"x"', r'button "\q"']
)
def test_refuses_other_forms(text: str) -> None:
    with pytest.raises(LocatorSyntax):
        Locator.parse(text)


def test_refuses_a_bad_regex_in_near() -> None:
    with pytest.raises(LocatorSyntax, match="bad regex"):
        Locator.parse("button", near="/(/")


def test_reads_as_it_was_written() -> None:
    locator = Locator.parse('button "A \\"b\\""', near="C", nth=2)
    assert str(locator) == 'button "A \\"b\\"" near "C" (number 2)'
    assert str(Locator.parse("link /^x/")) == "link /^x/"


def test_snapshot_of_an_observation() -> None:
    assert snapshot_of("Result: x\nSnapshot:\n- a\n- b") == "- a\n- b"
    assert snapshot_of("Snapshot:\n- a") == "- a"
    assert snapshot_of("Result: the Snapshot: of x") is None
    assert snapshot_of("Page: x\nSnapshot: none, the page has crashed") == ""


@given(st.text())
def test_no_page_breaks_the_parser(text: str) -> None:
    parse_snapshot(text)
    find(Locator.parse('button "x"', near="y"), text)


def test_brackets_without_end_take_no_time() -> None:
    parse_snapshot("- button" + " [a" * 20_000)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1))
def test_every_name_is_found_again(name: str) -> None:
    line = f"- button {json.dumps(name, ensure_ascii=False)} [ref=e1]"
    quoted = "- '" + line[2:].replace("'", "''") + "': text"
    locator = f"button {json.dumps(name)}"
    if name.strip():
        assert ref(locator, text=line) == "e1"
        assert ref(locator, text=quoted) == "e1"


@pytest.mark.browser
async def test_names_from_a_real_page() -> None:
    names = ['Save: "it" now', "a 'b' [c]", "# not a comment", "tab\\t", "é 😀", "yes", "- dash"]
    buttons = "".join(f"<button>{name}</button>" for name in names)
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox"]
        )
        page = await browser.new_page()
        await page.set_content(f"<ul><li>Milk {buttons}</li></ul>")
        text = await page.aria_snapshot(mode="ai")
        await browser.close()
    for name in names:
        assert ref(f"button {json.dumps(name)}", near="Milk", text=text) is not None, text
