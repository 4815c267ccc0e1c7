# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a browser tool is, and what happens around its own work.

A tool is a class with its arguments as fields and its work in `run`. Three bases say when it can
run: `PageTool` needs a page that is alive and quiet, `AnyPageTool` works in every state of the
page, `LookTool` only changes how the page is looked at. A tool that acted is waited for: it ends
when the page has settled again.

To add a tool: write its class beside its family, add it to `registry.py`, use it in a test of
tests/browser/tools (test_tool_contract.py there says what is missing).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from playwright.async_api import Error as PlaywrightError
from pydantic import Field, StringConstraints

from vibench_gym.browser.failures import ActionFailed, PageUnresponsive, is_gone
from vibench_gym.browser.page.downloads import keep_new_downloads
from vibench_gym.browser.page.observer import Look
from vibench_gym.core.tool import ToolSpec
from vibench_gym.core.toolset import MAX_PROBLEMS, ElementRef, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

SHOWN_TEXT = 200
"""So many characters of a call's own text are repeated in its result."""
_PROBLEM_CHARS = 200

Ref = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=r"^(f\d{1,6})?e\d{1,7}$", max_length=16),
    Field(description="reference of an element in the last snapshot, for example e12"),
    ElementRef(),
]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"),
]
Text = Annotated[str, StringConstraints(max_length=100_000)]
Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4096)]
Button = Literal["left", "right", "middle"]


class BrowserTool(Tool):
    """Base of the browser's tools."""

    may_close_page: ClassVar[bool] = False
    """Used on purpose, it can make a page close its own tab: that is success, not a lost page."""

    @classmethod
    def spec(cls) -> ToolSpec:
        """As every tool's, without the titles and the description that pydantic repeats."""
        schema = cls.model_json_schema()
        for repeated in ("title", "description"):
            schema.pop(repeated, None)
        for parameter in schema.get("properties", {}).values():
            parameter.pop("title", None)
        return ToolSpec(cls.tool_name, cls.description(), schema)

    @classmethod
    def refusal(cls, problems: Sequence[str]) -> str:
        """The tool's signature, then what is wrong, each problem cut."""
        signature = ", ".join(
            name if field.is_required() else f"{name}?" for name, field in cls.model_fields.items()
        )
        shown = "; ".join(problem[:_PROBLEM_CHARS] for problem in problems[:MAX_PROBLEMS])
        return f"{cls.tool_name}{{{signature}}} expected. {shown}"

    @abstractmethod
    async def carry_out(self, pages: Pages) -> Look:
        """Do it and wait until the page has settled.

        Raises:
            ActionFailed: it could not be done; says why.
            PlaywrightError: likewise, in Playwright's words.
        """

    async def _settled(self, pages: Pages, result: str) -> Look:
        """The look at the page once it has settled; downloads that began are kept."""
        tab = await pages.current()
        if not tab.crashed:
            try:
                await pages.settler.after(tab)
            except PageUnresponsive as error:
                raise ActionFailed(f"{result}; then {error}") from None
        result += await keep_new_downloads(pages)
        return Look(tool=self.tool_name, result=result)


class PageTool(BrowserTool):
    """A tool that needs a page which is alive and quiet."""

    @abstractmethod
    async def run(self, pages: Pages, tab: Tab) -> str:
        """Do it on the current tab; the result in words. Raises as `carry_out`."""

    async def carry_out(self, pages: Pages) -> Look:
        """See `BrowserTool`."""
        tab = await pages.usable()
        try:
            result = await self.run(pages, tab)
        except PlaywrightError as error:
            # A button that closes its own window has done what it is for.
            if not (self.may_close_page and is_gone(error) and await _closes(tab)):
                raise
            ref = getattr(self, "ref", None)
            where = f" on {pages.label(tab, ref)}" if ref is not None else ""
            result = f"{self.tool_name}{where} made the page close its tab"
        return await self._settled(pages, result)


class OnElement(PageTool):
    """An action on one element of the last snapshot."""

    ref: Ref
    element: str | None = Field(
        default=None, max_length=400, description="the element in your own words, for the record"
    )


class AnyPageTool(BrowserTool):
    """A tool that has to work in every state of the current page: crashed, hanging, loading."""

    @abstractmethod
    async def run(self, pages: Pages) -> str:
        """Do it; the result in words. Raises as `carry_out`."""

    async def carry_out(self, pages: Pages) -> Look:
        """See `BrowserTool`."""
        return await self._settled(pages, await self.run(pages))


class LookTool(BrowserTool):
    """A tool that only says how the page is to be looked at."""

    @abstractmethod
    async def run(self, pages: Pages, tab: Tab) -> Look:
        """How to look. Raises as `carry_out`."""

    async def carry_out(self, pages: Pages) -> Look:
        """See `BrowserTool`."""
        return await self.run(pages, await pages.usable())


async def _closes(tab: Tab) -> bool:
    for _ in range(20):
        if tab.page.is_closed():
            return True
        await asyncio.sleep(0.025)
    return False
