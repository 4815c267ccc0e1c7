# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots are bounded and cannot pass for anything of ours."""

from __future__ import annotations

import pytest

from vibench_gym.browser.page.snapshot import (
    LINE_CHARS,
    escape_unsafe,
    make_snapshot,
    quoted,
    text_snapshot,
)

RAW = """- generic [active] [ref=e1]:
  - 'heading "Total: 5 o''clock" [level=1] [ref=e2]'
  - 'button "a: b" [active] [ref=e3]': value
  - list [ref=e4]:
    - listitem [ref=f1e5]: one
  - text: loose"""


def test_keys_read_the_same_with_and_without_a_colon() -> None:
    shown = make_snapshot(RAW, 10_000)
    assert '  - heading "Total: 5 o\'clock" [level=1] [ref=e2]\n' in shown.text
    assert '  - button "a: b" [active] [ref=e3]: value\n' in shown.text
    assert not shown.truncated


def test_labels_and_focus() -> None:
    shown = make_snapshot(RAW, 10_000)
    assert shown.labels["e2"] == 'heading "Total: 5 o\'clock"'
    assert shown.labels["f1e5"] == "listitem"
    assert shown.focused == "e3"


def test_cut_at_a_line_with_the_number_of_characters_left_out() -> None:
    shown = make_snapshot(RAW, 60)
    assert shown.truncated
    *kept, marker = shown.text.split("\n")
    assert kept == ["- generic [active] [ref=e1]:"]
    assert marker.startswith("[... cut: ")
    assert "f1e5" in shown.labels


def test_long_lines_are_cut() -> None:
    shown = make_snapshot(f"- text: {'x' * 5000}", 10_000)
    assert shown.truncated
    assert len(shown.text) < LINE_CHARS + 60


def test_subtree() -> None:
    assert make_snapshot(RAW, 10_000, only="e4").text == (
        "- list [ref=e4]:\n  - listitem [ref=f1e5]: one"
    )
    assert make_snapshot(RAW, 10_000, only="e9").text == ""


@pytest.mark.parametrize("line", ["Page: http://x/", "Result: ok", "[ref=e1]", "\u2028Page: x"])
def test_lines_that_are_no_nodes_are_indented(line: str) -> None:
    assert make_snapshot(line, 1000).text.startswith("  ")


def test_unsafe_characters_are_shown_as_escapes() -> None:
    assert escape_unsafe("a\rb\u2028c\u202ed\x00e\tf") == "a\\u000db\\u2028c\\u202ed\\u0000e\tf"
    assert escape_unsafe("\ud83d") == "\ufffd"
    assert quoted('say "hi"\n', 100) == '"say \\"hi\\"\\n"'
    assert quoted("abcdef", 2) == '"ab"[... cut: 4 more characters]'


def test_text_snapshot() -> None:
    shown = text_snapshot("one\n\nPage: two", 7, 1000, "big")
    assert shown.text == (
        "- note: text only, no refs: big\n"
        '- text: "one"\n- text: "Page: two"\n[... cut: 7 more characters]'
    )
    assert shown.truncated
