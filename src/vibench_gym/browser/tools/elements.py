# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that act on one element, or on whatever has the focus."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from vibench_gym.browser.failures import ActionFailed, one_line
from vibench_gym.browser.page.snapshot import quoted

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from vibench_gym.browser.page.pages import Pages
    from vibench_gym.browser.page.tabs import Tab
    from vibench_gym.browser.tools import arguments as args

KEY_DELAY_MS = 10.0
TYPING_MAX_S = 10.0
MAX_OPTIONS = 20
SHOWN_TEXT = 200
READ_CHARS = 8_000
ATTRIBUTE_CHARS = 300
_READ_MS = 3_000
_ATTRIBUTES = [
    "id",
    "class",
    "type",
    "name",
    "value",
    "placeholder",
    "href",
    "src",
    "alt",
    "title",
    "role",
    "for",
    "action",
    "method",
    "target",
    "rel",
    "download",
    "accept",
    "pattern",
    "min",
    "max",
    "step",
    "minlength",
    "maxlength",
    "rows",
    "cols",
    "required",
    "disabled",
    "readonly",
    "checked",
    "selected",
    "multiple",
    "hidden",
    "open",
    "lang",
    "dir",
    "style",
    "tabindex",
    "contenteditable",
    "draggable",
    "autocomplete",
    "autofocus",
    "datetime",
    "colspan",
    "rowspan",
    "width",
    "height",
    "data-testid",
    "data-id",
    "aria-label",
    "aria-labelledby",
    "aria-describedby",
    "aria-expanded",
    "aria-checked",
    "aria-selected",
    "aria-pressed",
    "aria-current",
    "aria-disabled",
    "aria-hidden",
    "aria-invalid",
    "aria-live",
    "aria-valuenow",
    "aria-valuemin",
    "aria-valuemax",
    "aria-sort",
    "aria-haspopup",
    "aria-controls",
]


async def click(pages: Pages, tab: Tab, call: args.Click) -> str:
    """Click or double-click an element."""
    target = await pages.element(tab, call.ref)
    tab.file_chooser = None
    press = target.dblclick if call.double else target.click
    # Where a click leads to is waited for as a navigation, which may take longer than a click.
    await pages.act(
        tab,
        press(
            button=call.button,
            modifiers=list(call.modifiers),
            timeout=pages.timeout_ms,
            no_wait_after=True,
        ),
    )
    verb = "double-clicked" if call.double else "clicked"
    side = "" if call.button == "left" else f" with the {call.button} button"
    keys = f" holding {'+'.join(call.modifiers)}" if call.modifiers else ""
    return f"{verb} {pages.label(tab, call.ref)}{side}{keys}"


async def fill(pages: Pages, tab: Tab, call: args.Fill) -> str:
    """Replace a field's text."""
    target = await pages.element(tab, call.ref)
    await pages.act(tab, target.fill(call.text, timeout=pages.timeout_ms))
    return f"filled {pages.label(tab, call.ref)} with {quoted(call.text, SHOWN_TEXT)}"


async def type_text(pages: Pages, tab: Tab, call: args.Type) -> str:
    """Type with key strokes; a field that has not got the focus is clicked first."""
    where = "where the focus is"
    if call.ref is not None:
        target = await pages.element(tab, call.ref)
        where = f"into {pages.label(tab, call.ref)}"
        if tab.snapshot.focused == call.ref:
            # Where the caret is, is the user's business: a click would move it.
            await pages.act(tab, target.focus(timeout=pages.timeout_ms))
        else:
            await pages.act(tab, target.click(timeout=pages.timeout_ms))
            await pages.settler.after(tab)
    delay = min(KEY_DELAY_MS, TYPING_MAX_S * 1000 / max(1, len(call.text)))
    keyboard = tab.page.keyboard
    await pages.act(
        tab, keyboard.type(call.text, delay=delay), TYPING_MAX_S + pages.config.action_timeout_s
    )
    if call.submit:
        await pages.settler.after(tab)
        await pages.act(tab, keyboard.press("Enter"))
    enter = " and pressed Enter" if call.submit else ""
    return f"typed {quoted(call.text, SHOWN_TEXT)} {where}{enter}"


async def press(pages: Pages, tab: Tab, call: args.Press) -> str:
    """Press a key or chord."""
    where = ""
    if call.ref is not None:
        target = await pages.element(tab, call.ref)
        where = f" in {pages.label(tab, call.ref)}"
        pressing = target.press(call.key, timeout=pages.timeout_ms)
    else:
        pressing = tab.page.keyboard.press(call.key)
    try:
        await pages.act(tab, pressing)
    except PlaywrightError as error:
        if "Unknown key" not in error.message:
            raise
        raise ActionFailed(
            f"{call.key!r} is no key: use names such as Enter, Escape, Tab, ArrowDown, a, "
            "or chords such as Control+a"
        ) from None
    return f"pressed {call.key}{where}"


async def select(pages: Pages, tab: Tab, call: args.Select) -> str:
    """Choose options by label or value."""
    target = await pages.element(tab, call.ref)
    label = pages.label(tab, call.ref)
    try:
        chosen = await pages.act(
            tab, target.select_option(list(call.values), timeout=pages.timeout_ms / 4)
        )
    except PlaywrightError as error:
        if "not a <select>" in error.message:
            raise ActionFailed(
                f"{label} is no select box: click it, then click the option"
            ) from None
        if "did not find some options" in error.message or "Timeout" in error.message:
            there = await _options(pages, tab, target)
            raise ActionFailed(
                f"{label} has no such option that can be chosen; there are: {there}"
            ) from None
        raise
    values = ", ".join(quoted(value, 100) for value in chosen)
    return f"selected {values or 'nothing'} in {label}"


async def _options(pages: Pages, tab: Tab, target: Locator) -> str:
    options = target.locator("option")
    count = await pages.act(tab, options.count())
    texts = [
        await pages.act(tab, options.nth(index).text_content(timeout=_READ_MS))
        for index in range(min(count, MAX_OPTIONS))
    ]
    shown = ", ".join(quoted(one_line(text or "", 60), 80) for text in texts) or "none"
    return shown + (f" and {count - MAX_OPTIONS} more" if count > MAX_OPTIONS else "")


async def check(pages: Pages, tab: Tab, call: args.Check) -> str:
    """Tick or untick."""
    target = await pages.element(tab, call.ref)
    await pages.act(tab, target.set_checked(call.checked, timeout=pages.timeout_ms))
    return f"{'ticked' if call.checked else 'unticked'} {pages.label(tab, call.ref)}"


async def hover(pages: Pages, tab: Tab, call: args.Hover) -> str:
    """Move the mouse over an element."""
    target = await pages.element(tab, call.ref)
    await pages.act(tab, target.hover(timeout=pages.timeout_ms))
    return f"moved the mouse over {pages.label(tab, call.ref)}"


async def read(pages: Pages, tab: Tab, call: args.Read) -> str:
    """Everything we can tell about an element."""
    target = await pages.element(tab, call.ref)
    parts = [f"read {pages.label(tab, call.ref)}"]
    text, value, states, box, attributes = await pages.act(
        tab,
        asyncio.gather(
            target.inner_text(timeout=_READ_MS),
            _value(target),
            _states(target),
            target.bounding_box(timeout=_READ_MS),
            _attributes(target),
            return_exceptions=True,
        ),
    )
    if isinstance(text, BaseException):
        raise text
    parts.append(f"text: {quoted(text, READ_CHARS)}")
    if isinstance(value, str):
        parts.append(f"value: {quoted(value, READ_CHARS)}")
    if isinstance(states, list):
        parts.append(f"state: {', '.join(states)}")
    if isinstance(attributes, list) and attributes:
        parts.append(f"attributes: {' '.join(attributes)}")
    if isinstance(box, dict):
        x, y, width, height = (round(box[key]) for key in ("x", "y", "width", "height"))
        parts.append(f"box: x={x} y={y} width={width} height={height}")
    return "\n".join(parts)


async def _value(target: Locator) -> str | None:
    try:
        return await target.input_value(timeout=_READ_MS)
    except PlaywrightError:
        return None


async def _states(target: Locator) -> list[str]:
    visible, enabled = await asyncio.gather(
        target.is_visible(timeout=_READ_MS), target.is_enabled(timeout=_READ_MS)
    )
    states = ["visible" if visible else "not visible", "enabled" if enabled else "disabled"]
    try:
        checked = await target.is_checked(timeout=_READ_MS)
    except PlaywrightError:
        return states
    return [*states, "checked" if checked else "not checked"]


async def _attributes(target: Locator) -> list[str]:
    values = await asyncio.gather(
        *(target.get_attribute(name, timeout=_READ_MS) for name in _ATTRIBUTES)
    )
    return [
        f"{name}={quoted(value, ATTRIBUTE_CHARS)}"
        for name, value in zip(_ATTRIBUTES, values, strict=True)
        if value is not None
    ]
