# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What surrounds a page: dialogs, position, network, clipboard, window size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import ActionFailed, explain
from vibench_gym.browser.page.snapshot import quoted

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab
    from vibench_gym.browser.tools import arguments as args

CLIPBOARD_CHARS = 4_000
_CLIPBOARD = ["clipboard-read", "clipboard-write"]


async def dialog(pages: Pages, call: args.Dialog) -> str:
    """Arm the answer to the next dialog."""
    pages.dialogs.arm(accept=call.accept, text=call.text)
    how = "accepted" if call.accept else "dismissed"
    text = f" with {quoted(call.text, 200)}" if call.text is not None and call.accept else ""
    return f"the next dialog will be {how}{text}"


async def geolocation(pages: Pages, call: args.Geolocation) -> str:
    """Set or refuse the position of the current context."""
    context = pages.context_state.context
    tab = await pages.current()
    if call.denied:
        await pages.act(tab, context.clear_permissions())
        await pages.act(tab, context.grant_permissions(_CLIPBOARD, origin=pages.origin))
        return f"{pages.context_state.name} refuses to tell its position"
    if call.latitude is None or call.longitude is None:
        raise ActionFailed("give latitude and longitude, or denied=true")
    await pages.act(
        tab,
        context.set_geolocation({"latitude": call.latitude, "longitude": call.longitude}),
    )
    await pages.act(
        tab, context.grant_permissions([*_CLIPBOARD, "geolocation"], origin=pages.origin)
    )
    return f"{pages.context_state.name} is at {call.latitude:g}, {call.longitude:g}"


async def offline(pages: Pages, call: args.Offline) -> str:
    """Take the network away or give it back."""
    tab = await pages.current()
    await pages.act(tab, pages.context_state.context.set_offline(call.offline))
    return f"{pages.context_state.name} is {'offline' if call.offline else 'online'}"


async def clipboard(pages: Pages, tab: Tab, call: args.Clipboard) -> str:
    """Read or write the clipboard through the page, as a user would paste."""
    world = await tab.isolated()
    if not tab.page.url.startswith(pages.origin):
        raise ActionFailed("open a page of the app first: the clipboard is reached through it")
    try:
        if call.action == "write":
            if call.text is None:
                raise ActionFailed("say which text to write")
            function = "text => navigator.clipboard.writeText(text)"
            await pages.act(tab, world.call(function, call.text, user_gesture=True))
            return f"put {quoted(call.text, 200)} into the clipboard"
        text = await pages.act(
            tab, world.evaluate("navigator.clipboard.readText()", user_gesture=True)
        )
    except PlaywrightError as error:
        raise ActionFailed(f"the clipboard cannot be reached: {explain(error)}") from None
    return f"the clipboard holds {quoted(str(text), CLIPBOARD_CHARS)}"


async def viewport(pages: Pages, call: args.Viewport) -> str:
    """Resize the page."""
    tab = await pages.current()
    await pages.act(tab, tab.page.set_viewport_size({"width": call.width, "height": call.height}))
    return f"the viewport is {call.width} x {call.height}"
