# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Dragging and drawing with the real mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browser.conftest import Drive

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

BOXES = (
    "<style>section{width:200px;height:120px;border:1px solid;display:inline-block}</style>"
    "<section aria-label=From><div role=note aria-label=Card id=card style='width:80px;height:40px;"
    "background:gold'>Card</div></section><section aria-label=To></section><p>-</p>"
)


async def test_html5_drag_and_drop(drive: Drive) -> None:
    await drive.show(
        BOXES + "<script>card.draggable = true; const to = document.querySelectorAll('section')[1];"
        "card.ondragstart = e => e.dataTransfer.setData('text', 'payload');"
        "to.ondragover = e => e.preventDefault();"
        "to.ondrop = e => { e.preventDefault(); to.append(card);"
        "document.querySelector('p').textContent = 'dropped ' + e.dataTransfer.getData('text') }"
        "</script>"
    )
    await drive.ok("drag", 'note "Card"', target_ref=drive.ref('region "To"'))
    assert "dropped payload" in drive.snapshot


async def test_pointer_drag(drive: Drive) -> None:
    await drive.show(
        BOXES + "<script>let on = false, moves = 0; card.onpointerdown = e => { on = true;"
        "card.setPointerCapture(e.pointerId) }; card.onpointermove = () => on && moves++;"
        "card.onpointerup = e => { on = false; card.style.display = 'none';"
        "const under = document.elementFromPoint(e.clientX, e.clientY).ariaLabel;"
        "document.querySelector('p').textContent = `on ${under} ${moves > 5}` }</script>"
    )
    await drive.ok("drag", 'note "Card"', target_ref=drive.ref('region "To"'))
    assert "on To true" in drive.snapshot
    await drive.show(BOXES)
    assert "no element" in await drive.fails("drag", 'note "Card"', target_ref="e999")


async def test_canvas_is_drawn_on_by_coordinates(drive: Drive) -> None:
    await drive.show(
        "<canvas width=300 height=200 style='position:absolute;left:0;top:0'></canvas>"
        "<p style='margin-top:220px'>-</p><script>const c = document.querySelector('canvas');"
        "let pen = null, points = 0, clicks = 0; const say = () => document.querySelector('p')"
        ".textContent = `points ${points} clicks ${clicks}`;"
        "c.onmousedown = e => pen = [e.offsetX, e.offsetY];"
        "c.onmousemove = e => { if (pen) points++; };"
        "c.onmouseup = () => { pen = null; say() }; c.ondblclick = () => { clicks += 10; say() };"
        "c.onclick = () => { clicks++; say() }; c.onwheel = e => { clicks += e.deltaY; say() };"
        "</script>"
    )
    line = [
        {"kind": "move", "x": 10, "y": 10},
        {"kind": "down"},
        {"kind": "move", "x": 100, "y": 80},
        {"kind": "up"},
    ]
    await drive.ok("mouse", actions=line)
    assert "points 6 clicks 1" in drive.snapshot
    seen = await drive.ok("mouse", actions=[{"kind": "double_click", "x": 50, "y": 50}])
    assert "clicks 13" in drive.snapshot
    assert "carried out 1 mouse actions, the last at (50, 50)" in seen.text
    await drive.ok("mouse", actions=[{"kind": "wheel", "x": 50, "y": 50, "dy": 100}])
    assert "clicks 113" in drive.snapshot
    assert "needs both x and y" in await drive.fails("mouse", actions=[{"kind": "move", "x": 1}])


async def test_an_action_list_that_leaves_the_button_down_is_carried_over(drive: Drive) -> None:
    await drive.show(
        "<p>-</p><script>onmouseup = () => document.querySelector('p').textContent ="
        "'released'</script>"
    )
    await drive.ok("mouse", actions=[{"kind": "down", "x": 5, "y": 5}])
    await drive.ok("mouse", actions=[{"kind": "up", "x": 50, "y": 5}])
    assert "released" in drive.snapshot
