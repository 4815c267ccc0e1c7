# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Which function carries out which tool, and what happens around each of them.

Tools that act on the page wait for it to be quiet first; all wait for quiet afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import ActionFailed, PageUnresponsive, is_gone
from vibench_gym.browser.page.observer import Look
from vibench_gym.browser.tools import arguments as args
from vibench_gym.browser.tools import elements, files, navigation, pointer, surroundings, waiting

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

type _OnPage[A: args.Arguments] = Callable[[Pages, Tab, A], Awaitable[str]]
type _OnBrowser[A: args.Arguments] = Callable[[Pages, A], Awaitable[str]]

ON_PAGE: dict[type[args.Arguments], _OnPage[Any]] = {
    args.Click: elements.click,
    args.Fill: elements.fill,
    args.Type: elements.type_text,
    args.Press: elements.press,
    args.Select: elements.select,
    args.Check: elements.check,
    args.Hover: elements.hover,
    args.Read: elements.read,
    args.Drag: pointer.drag,
    args.Mouse: pointer.mouse,
    args.Upload: files.upload,
    args.Download: files.download,
    args.WaitFor: waiting.wait_for,
    args.Clipboard: surroundings.clipboard,
}
"""Tools that need a page which is alive and quiet."""

ON_BROWSER: dict[type[args.Arguments], _OnBrowser[Any]] = {
    args.Open: navigation.open_url,
    args.Back: navigation.back,
    args.Forward: navigation.forward,
    args.Reload: navigation.reload,
    args.NewTab: navigation.new_tab,
    args.NewContext: navigation.new_context,
    args.Switch: navigation.switch,
    args.CloseTab: navigation.close_tab,
    args.Dialog: surroundings.dialog,
    args.Geolocation: surroundings.geolocation,
    args.Offline: surroundings.offline,
    args.Viewport: surroundings.viewport,
}
"""Tools that have to work whatever state the current page is in."""


MAY_CLOSE = (args.Click, args.Press, args.Type, args.Mouse)


async def carry_out(pages: Pages, call: args.Arguments) -> Look:
    """Carry out a checked call and wait until the page has settled.

    Raises:
        ActionFailed: it could not be done; says why.
        PlaywrightError: likewise, in Playwright's words.
    """
    look = Look(tool=call.tool)
    if isinstance(call, args.Screenshot | args.Snapshot):
        return await _only_look(pages, call, look)
    on_page = ON_PAGE.get(type(call))
    if on_page is not None:
        result = await _on_page(pages, on_page, call)
    else:
        result = await ON_BROWSER[type(call)](pages, call)
    tab = await pages.current()
    if not tab.crashed:
        try:
            await pages.settler.after(tab)
        except PageUnresponsive as error:
            raise ActionFailed(f"{result}; then {error}") from None
    result += await files.keep_new_downloads(pages)
    return Look(tool=call.tool, result=result)


async def _on_page(pages: Pages, tool: _OnPage[Any], call: args.Arguments) -> str:
    tab = await pages.usable()
    try:
        return await tool(pages, tab, call)
    except PlaywrightError as error:
        # A button that closes its own window has done what it is for.
        if not (is_gone(error) and isinstance(call, MAY_CLOSE) and await _closes(tab)):
            raise
    ref = getattr(call, "ref", None)
    where = f" on {pages.label(tab, ref)}" if ref is not None else ""
    return f"{call.tool}{where} made the page close its tab"


async def _closes(tab: Tab) -> bool:
    for _ in range(20):
        if tab.page.is_closed():
            return True
        await asyncio.sleep(0.025)
    return False


async def _only_look(pages: Pages, call: args.Arguments, look: Look) -> Look:
    tab = await pages.usable()
    if isinstance(call, args.Screenshot):
        what = "the whole page" if call.full_page else "the visible part of the page"
        return Look(
            tool=look.tool,
            result=f"took a picture of {what}",
            show_screenshot=True,
            full_page=call.full_page,
        )
    only = call.ref if isinstance(call, args.Snapshot) else None
    if only is not None:
        await pages.element(tab, only)
        return Look(tool=look.tool, result=f"looked at {pages.label(tab, only)}", only=only)
    return Look(tool=look.tool, result="looked at the page")
