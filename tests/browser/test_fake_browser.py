# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The fake that stands in for Chromium in other tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.browser.base import Observation
from vibench_gym.core.errors import BrowserFailed
from vibench_gym.testing.fakes.browser import OBSERVE, FakeBrowser, RecordedCall

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.browser.base import Browser


async def test_answers_in_order_and_records(tmp_path: Path) -> None:
    fake = FakeBrowser(
        ["Result: one", Observation(id="?", seq=9, tool="click", text="two", is_error=True)],
        screenshots_dir=tmp_path,
    )
    browser: Browser = fake
    first = await browser.call("open", {"url": "/"})
    second = await browser.observe()
    assert (first.id, first.seq, first.text, first.is_error) == (
        "obs-0001",
        1,
        "Result: one",
        False,
    )
    assert (second.id, second.seq, second.is_error) == ("obs-0002", 2, True)
    assert first.screenshot is not None
    assert first.screenshot.read_bytes().startswith(b"\xff\xd8")
    assert fake.calls == [RecordedCall("open", {"url": "/"}), RecordedCall(OBSERVE, {})]
    assert (await browser.call("x", {})).text == "Result: done"
    assert fake.unused == 0
    await browser.close()
    assert fake.closed
    assert {spec.name for spec in browser.tools} >= {"open", "click"}


async def test_exceptions_callables_and_no_answer() -> None:
    fake = FakeBrowser([BrowserFailed("gone")], otherwise=None)
    with pytest.raises(BrowserFailed):
        await fake.call("open", {})
    with pytest.raises(AssertionError, match="no answer is left"):
        await fake.call("open", {})
    fake.will_answer(lambda name, arguments: f"Error: {name} {arguments['ref']}")
    seen = await fake.call("click", {"ref": "e1"})
    assert seen.is_error
    assert seen.text == "Error: click e1"
