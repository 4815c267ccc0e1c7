# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The mouse by hand: dragging elements, drawing on a canvas."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from vibench_gym.browser.failures import ActionFailed
from vibench_gym.browser.tools.base import Button, OnElement, PageTool, Ref

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab

_STEPS = 12
_STEP_PAUSE_S = 0.01
_HOLD_S = 0.15
_MOUSE_EXTRA_S = 20.0
Pixels = Annotated[float, Field(ge=0, le=20_000, allow_inf_nan=False)]
Distance = Annotated[float, Field(ge=-20_000, le=20_000, allow_inf_nan=False)]


class Drag(OnElement):
    """Drag an element with the mouse and drop it on another."""

    tool_name = "drag"
    target_ref: Ref

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Drag with the real mouse, slowly enough for libraries that count moves or hold times."""
        source = await pages.element(tab, self.ref)
        target = await pages.element(tab, self.target_ref)
        await pages.act(tab, source.hover(timeout=pages.timeout_ms))
        await pages.act(tab, _drag_to(tab, source, target), pages.config.action_timeout_s * 2)
        return f"dragged {pages.label(tab, self.ref)} to {pages.label(tab, self.target_ref)}"


async def _drag_to(tab: Tab, source: Locator, target: Locator) -> None:
    mouse = tab.page.mouse
    await mouse.down()
    try:
        await asyncio.sleep(_HOLD_S)
        start = await _middle(source)
        await target.scroll_into_view_if_needed(timeout=3_000)
        for step in range(1, _STEPS + 1):
            # The target may move while it makes room for what is dragged.
            end = await _middle(target)
            part = step / _STEPS
            await mouse.move(
                start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part
            )
            await asyncio.sleep(_STEP_PAUSE_S)
        end = await _middle(target)
        await mouse.move(end[0], end[1])
        await mouse.move(end[0] + 1, end[1] + 1)
        await asyncio.sleep(_HOLD_S)
    finally:
        await mouse.up()


async def _middle(locator: Locator) -> tuple[float, float]:
    box = await locator.bounding_box(timeout=3_000)
    if box is None:
        raise ActionFailed("the element to drag from or to has no place on the page")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


class MouseAction(BaseModel):
    """One move of the mouse; x and y are pixels from the top left of the viewport."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["move", "down", "up", "click", "double_click", "wheel"]
    x: Pixels | None = None
    y: Pixels | None = None
    dx: Distance = 0
    dy: Distance = 0
    button: Button = "left"


class Mouse(PageTool):
    """Use the mouse by coordinates, as on a canvas: a list of actions carried out in order."""

    tool_name = "mouse"
    may_close_page = True
    actions: tuple[MouseAction, ...] = Field(min_length=1, max_length=200)

    async def run(self, pages: Pages, tab: Tab) -> str:
        """Carry the actions out, once all of them are complete."""
        for index, action in enumerate(self.actions, start=1):
            placed = action.x is not None and action.y is not None
            if not placed and (action.kind == "move" or (action.x is None) != (action.y is None)):
                raise ActionFailed(f"action {index} ({action.kind}) needs both x and y")
        await pages.act(
            tab,
            _mouse_actions(tab, self.actions),
            pages.config.action_timeout_s + _MOUSE_EXTRA_S,
        )
        last = self.actions[-1]
        where = f", the last at ({last.x:g}, {last.y:g})" if last.x is not None else ""
        return f"carried out {len(self.actions)} mouse actions{where}"


async def _mouse_actions(tab: Tab, actions: tuple[MouseAction, ...]) -> None:
    pointer = tab.page.mouse
    pressed: str | None = None
    for action in actions:
        if action.x is not None and action.y is not None:
            # A line, not a jump: drawing programs take what lies between.
            await pointer.move(action.x, action.y, steps=6 if pressed else 1)
        match action.kind:
            case "down":
                await pointer.down(button=action.button)
                pressed = action.button
            case "up":
                await pointer.up(button=action.button)
                pressed = None
            case "click" | "double_click":
                double = action.kind == "double_click"
                for count in (1, 2) if double else (1,):
                    await pointer.down(button=action.button, click_count=count)
                    await pointer.up(button=action.button, click_count=count)
            case "wheel":
                await pointer.wheel(action.dx, action.dy)
            case "move":
                pass
