# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How far an app came, and whose fault it is that it does not stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.grading import FakeBrowsers, make_app
from vibench_gym.browser.base import Observation
from vibench_gym.core.errors import (
    AppSetupFailed,
    AppStartFailed,
    BrowserFailed,
    PrerequisiteMissing,
    SandboxUnavailable,
)
from vibench_gym.grading.stand_up import StandUp, StandUpResult
from vibench_gym.testing.fakes.browser import FakeBrowser
from vibench_gym.testing.fakes.stack import FakeStack, FakeStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.errors import VibenchGymError

PAGE = Observation(
    id="",
    seq=0,
    tool="open",
    text='Result: opened it\nConsole: error "x"\nSnapshot:\n- heading "Hi" [ref=e1]\nConsole: no',
    title="Hi",
    extra={"http_status": 200, "blocked_hosts": ["cdn.example.com"]},
)


async def stand(
    folder: Path, *stacks: FakeStack, error: VibenchGymError | None = None, **fakes: FakeBrowsers
) -> StandUpResult:
    builder = FakeStackBuilder(stacks, prepare_errors=[error] if error else ())
    browsers = fakes.get("browsers") or FakeBrowsers()
    standing = await StandUp(builder, browsers)(make_app(folder / "app"), folder / "out")
    assert all(prepared.closed for prepared in builder.prepared)
    entered = [s for prepared in builder.prepared for s in prepared.stacks if s.entered]
    assert all(stack.exited for stack in entered)
    assert all(browser.closed for browser in browsers.launched)
    return standing


def showing(*answers: Observation | str | Exception) -> FakeBrowsers:
    browsers = FakeBrowsers()
    browsers.queued.extend(
        answer if isinstance(answer, SandboxUnavailable) else FakeBrowser([answer])
        for answer in answers
    )
    return browsers


async def test_an_app_that_stands(tmp_path: Path) -> None:
    standing = await stand(tmp_path, browsers=showing(PAGE))
    assert standing.stands
    assert (standing.fault, standing.message) == (None, "")
    page = standing.page
    assert page is not None
    assert (page.status, page.title, page.console_errors) == (200, "Hi", 1)
    assert page.blocked_hosts == ("cdn.example.com",)
    assert standing.usage is not None
    assert standing.usage_with_browser is not None
    assert set(standing.timings) == {"namespaces", "files", "database", "app_start"}
    assert standing.setup is not None


@pytest.mark.parametrize(
    ("error", "fault"),
    [(AppSetupFailed("no set-up"), "app"), (SandboxUnavailable("no zone"), "ours")],
)
async def test_set_up_fails(tmp_path: Path, error: VibenchGymError, fault: str) -> None:
    standing = await stand(tmp_path, error=error)
    assert (standing.stands, standing.fault, standing.setup) == (False, fault, None)
    assert standing.message == str(error)


async def test_it_does_not_start(tmp_path: Path) -> None:
    standing = await stand(tmp_path, FakeStack(enter_error=AppStartFailed("no document")))
    assert (standing.fault, standing.message) == ("app", "no document")
    assert standing.setup is not None
    assert (standing.page, standing.usage) == (None, None)


async def test_no_app_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    standing = await StandUp(FakeStackBuilder(), FakeBrowsers())(tmp_path / "empty", tmp_path)
    assert standing.fault == "app"


@pytest.mark.parametrize("text", ["Error: no", "Result: x\nSnapshot:\n  (nothing is on the page)"])
async def test_a_page_that_shows_nothing(tmp_path: Path, text: str) -> None:
    standing = await stand(tmp_path, browsers=showing(text))
    assert (standing.stands, standing.fault) == (False, "app")
    assert "first page" in standing.message


async def test_a_page_that_ends_the_browser(tmp_path: Path) -> None:
    standing = await stand(tmp_path, browsers=showing(BrowserFailed("gone"), "Result: empty page"))
    assert (standing.stands, standing.fault) == (False, "app")
    assert "gone" in standing.message


async def test_a_browser_that_works_nowhere(tmp_path: Path) -> None:
    broken = BrowserFailed("gone")
    standing = await stand(tmp_path, browsers=showing(broken, broken))
    assert (standing.stands, standing.fault) == (False, "ours")


async def test_what_is_missing_here_is_told(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing):
        await stand(tmp_path, error=PrerequisiteMissing("no PostgreSQL", "install it"))
