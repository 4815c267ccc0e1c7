# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What surrounds a page: dialogs, position, network, clipboard, window size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from playwright.async_api import Error as PlaywrightError
from pydantic import Field

from vibench_gym.browser.failures import ActionFailed, explain
from vibench_gym.browser.page.snapshot import quoted
from vibench_gym.browser.tools.base import SHOWN_TEXT, AnyPageTool, PageTool, Text

if TYPE_CHECKING:
    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

CLIPBOARD_CHARS = 4_000
_CLIPBOARD = ["clipboard-read", "clipboard-write"]


class Dialog(AnyPageTool):
    """Say how the next dialog (alert, confirm, prompt, leave page) is answered; default accept."""

    tool_name = "dialog"
    accept: bool
    text: str | None = Field(default=None, max_length=4000, description="answer to a prompt")

    async def run(self, pages: Pages) -> str:
        """Arm the answer to the next dialog."""
        pages.dialogs.arm(accept=self.accept, text=self.text)
        how = "accepted" if self.accept else "dismissed"
        text = ""
        if self.text is not None and self.accept:
            text = f" with {quoted(self.text, SHOWN_TEXT)}"
        return f"the next dialog will be {how}{text}"


class Geolocation(AnyPageTool):
    """Set where this context is, or refuse it the position."""

    tool_name = "geolocation"
    latitude: float | None = Field(default=None, ge=-90, le=90, allow_inf_nan=False)
    longitude: float | None = Field(default=None, ge=-180, le=180, allow_inf_nan=False)
    denied: bool = False

    async def run(self, pages: Pages) -> str:
        """Set or refuse the position of the current context."""
        context = pages.context_state.context
        tab = await pages.current()
        if self.denied:
            await pages.act(tab, context.clear_permissions())
            await pages.act(tab, context.grant_permissions(_CLIPBOARD, origin=pages.origin))
            return f"{pages.context_state.name} refuses to tell its position"
        if self.latitude is None or self.longitude is None:
            raise ActionFailed("give latitude and longitude, or denied=true")
        await pages.act(
            tab,
            context.set_geolocation({"latitude": self.latitude, "longitude": self.longitude}),
        )
        await pages.act(
            tab, context.grant_permissions([*_CLIPBOARD, "geolocation"], origin=pages.origin)
        )
        return f"{pages.context_state.name} is at {self.latitude:g}, {self.longitude:g}"


class Offline(AnyPageTool):
    """Take this context's network away or give it back."""

    tool_name = "offline"
    offline: bool

    async def run(self, pages: Pages) -> str:
        """Take the network away or give it back."""
        tab = await pages.current()
        await pages.act(tab, pages.context_state.context.set_offline(self.offline))
        return f"{pages.context_state.name} is {'offline' if self.offline else 'online'}"


class Clipboard(PageTool):
    """Read the clipboard or put text into it."""

    tool_name = "clipboard"
    result_is_finding = True
    action: Literal["read", "write"]
    text: Text | None = None

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Read or write the clipboard through the page, as a user would paste."""
        world = await tab.isolated()
        if not tab.page.url.startswith(pages.origin):
            raise ActionFailed("open a page of the app first: the clipboard is reached through it")
        try:
            if self.action == "write":
                if self.text is None:
                    raise ActionFailed("say which text to write")
                function = "text => navigator.clipboard.writeText(text)"
                await pages.act(tab, world.call(function, self.text, user_gesture=True))
                return f"put {quoted(self.text, SHOWN_TEXT)} into the clipboard"
            text = await pages.act(
                tab, world.evaluate("navigator.clipboard.readText()", user_gesture=True)
            )
        except PlaywrightError as error:
            raise ActionFailed(f"the clipboard cannot be reached: {explain(error)}") from None
        return f"the clipboard holds {quoted(str(text), CLIPBOARD_CHARS)}"


class Viewport(AnyPageTool):
    """Resize the current tab's page."""

    tool_name = "viewport"
    width: int = Field(ge=200, le=4000)
    height: int = Field(ge=200, le=4000)

    async def run(self, pages: Pages) -> str:
        """Resize the page."""
        tab = await pages.current()
        await pages.act(
            tab, tab.page.set_viewport_size({"width": self.width, "height": self.height})
        )
        return f"the viewport is {self.width} x {self.height}"
