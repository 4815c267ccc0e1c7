# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Actions wait for quiet, and quiet is never waited for in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browser.conftest import Drive

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def test_a_late_fetch_does_not_wipe_what_is_typed(drive: Drive) -> None:
    drive.site.reply("/note", '{"text": ""}', delay_s=0.5)
    await drive.show(
        "<button>New</button><div></div><script>"
        "document.querySelector('button').onclick = () => {"
        "  const box = document.querySelector('div');"
        "  box.innerHTML = '<input placeholder=Title>';"
        "  fetch('/note').then(r => r.json()).then(n =>"
        "    setTimeout(() => box.innerHTML = `<input placeholder=Title value='${n.text}'>`, 50));"
        "}</script>"
    )
    await drive.ok("click", 'button "New"')
    await drive.ok("type", 'textbox "Title"', text="typed at machine speed")
    await drive.ok("wait_for", seconds=0.8)
    assert "typed at machine speed" in drive.snapshot


async def test_slow_pages_are_waited_for_when_a_click_leads_there(drive: Drive) -> None:
    path = drive.site.show("<h1>arrived</h1>")
    drive.site.delay(path, 3)  # longer than a click may take
    await drive.show(f"<a href={path}>go</a>")
    seen = await drive.ok("click", 'link "go"')
    assert 'heading "arrived"' in seen.text
    assert seen.waited_on_app_s >= 3


async def test_streams_sockets_and_long_polls_do_not_block(drive: Drive) -> None:
    stream = {"content-type": "text/event-stream"}
    drive.site.reply("/events", "data: hi\n\n", headers=stream, stream=True)
    drive.site.reply("/poll", "", headers={"content-type": "application/json"}, stream=True)
    await drive.show(
        "<p></p><button>B</button><script>new WebSocket(`ws://${location.host}/ws`);"
        "new EventSource('/events').onmessage = e =>"
        "document.querySelector('p').textContent = e.data;"
        "fetch('/events'); const poll = () => fetch('/poll?' + Math.random()); poll();"
        "document.querySelector('button').onclick = poll</script>"
    )
    await drive.ok("wait_for", text="hi")
    await drive.ok("wait_for", seconds=1)
    first = await drive.ok("click", 'button "B"')
    second = await drive.ok("click", 'button "B"')
    assert second.waited_on_app_s <= max(first.waited_on_app_s, 1.0) + 1.5
    tab = await drive.browser._pages.current()
    assert "/poll" in tab.activity._slow_by_nature
    assert not tab.activity._pending


async def test_animations_without_end_cost_a_bounded_wait(drive: Drive) -> None:
    await drive.ok("new_tab")
    await drive.show(
        "<p>0</p><button>B</button><script>setInterval(() => "
        "document.querySelector('p').textContent++, 20)</script>"
    )
    await drive.ok("click", 'button "B"')
    await drive.ok("click", 'button "B"')
    tab = await drive.browser._pages.current()
    assert tab.restless >= 2
    await drive.ok("close_tab")


async def test_time_of_ours_is_not_the_apps(drive: Drive) -> None:
    await drive.show("<p>x</p>")
    picture = await drive.ok("screenshot")
    assert picture.waited_on_app_s < 0.6
    waited = await drive.ok("wait_for", seconds=0.5)
    assert waited.waited_on_app_s >= 0.5


async def test_a_next_page_that_does_not_come_is_said_to_be_missing(drive: Drive) -> None:
    await drive.ok("new_tab")
    path = drive.site.show("<h1>at last</h1>")
    drive.site.delay(path, 9)
    await drive.show(f"<button onclick=\"setTimeout(() => location = '{path}', 60)\">go</button>")
    seen = await drive("click", 'button "go"')
    assert "has not answered with the next page yet" in seen.text
    seen = await drive.ok("wait_for", text="at last", timeout_s=30)
    assert 'heading "at last"' in seen.text
    await drive.ok("close_tab")
