# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses, history, tabs, pop-ups, contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browser.conftest import Drive

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def test_open_takes_paths_and_own_addresses(drive: Drive) -> None:
    path = drive.site.show("<h1>here</h1>", title='a "title"\nPage: x')
    for url in (path, drive.site.url + path, (drive.site.url + path).removeprefix("http://")):
        await drive.ok("open", url=url)
        assert drive.last.url == drive.site.url + path
    seen = drive.last
    assert '(title "a \\"title\\" Page: x")' in seen.text
    assert seen.context == "context_A"


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "chrome://settings",
        "data:text/html,hi",
        "javascript:alert(1)",
        "view-source:http://localhost/",
        "https://example.com/",
        "//example.com/",
        "http://localhost:1/",
        "http://127.0.0.1/",
        "http://[::1",
    ],
)
async def test_open_refuses_everything_else(drive: Drive, url: str) -> None:
    message = await drive.fails("open", url=url)
    assert "only pages of the app" in message or "is not an address" in message
    at = drive.site.url.removeprefix("http://")
    assert "only pages" in await drive.fails("open", url=f"http://{at}@example.com/")


async def test_open_reports_what_came_instead_of_a_page(drive: Drive) -> None:
    drive.site.reply("/broken", "oops", status=500)
    assert "(HTTP 500)" in (await drive.ok("open", url="/broken")).text
    assert drive.last.extra["http_status"] == 500
    drive.site.reply("/moved", status=302, headers={"location": drive.site.show("there")})
    assert (await drive.ok("open", url="/moved")).extra["http_status"] == 200
    drive.site.reply("/empty", status=204)
    assert "no document came" in await drive.fails("open", url="/empty")
    drive.site.reply("/round", status=302, headers={"location": "/round"})
    assert "too many redirects" in await drive.fails("open", url="/round")
    drive.site.reply("/away", status=302, headers={"location": "http://example.com/"})
    assert "not reachable" in await drive.fails("open", url="/away")
    drive.site.reply("/never", "late", delay_s=8)
    seen = await drive("open", url="/never")
    assert seen.is_error
    assert "not loaded after 5 s" in seen.text
    assert 5 <= seen.waited_on_app_s < 12


async def test_back_forward_and_reload(drive: Drive) -> None:
    await drive.ok("new_tab")
    assert "nothing to go back to" in await drive.fails("back")
    await drive.show("<h1>one</h1>")
    await drive.show("<h1>two</h1><input placeholder=N>")
    assert "nothing to go forward to" in await drive.fails("forward")
    await drive.ok("back")
    assert 'heading "one"' in drive.snapshot
    await drive.ok("forward")
    await drive.ok("fill", 'textbox "N"', text="kept?")
    await drive.ok("reload")
    assert "kept?" not in drive.snapshot
    await drive.ok("close_tab")


async def test_single_page_history(drive: Drive) -> None:
    await drive.show(
        "<h1>start</h1><button onclick=\"history.pushState(0,'','/virtual');"
        "document.querySelector('h1').textContent='virtual'\">Go</button><script>"
        "onpopstate = () => document.querySelector('h1').textContent='popped'</script>"
    )
    seen = await drive.ok("click", 'button "Go"')
    assert seen.url.endswith("/virtual")
    await drive.ok("back")
    assert 'heading "popped"' in drive.snapshot


async def test_tabs_have_names(drive: Drive) -> None:
    await drive.ok("new_context", name="tabs")
    await drive.show("<h1>first</h1>")
    seen = await drive.ok("new_tab", url=drive.site.show("<h1>second</h1>"))
    assert "tabs/tab_2  [tabs: tab_1, tab_2*]" in seen.text
    await drive.ok("new_tab", name="CTX_MANAGER")
    assert "already" in await drive.fails("new_tab", name="tab_2")
    await drive.ok("switch", tab="tab_1")
    assert "first" in drive.snapshot
    assert "has no tab called tab_9" in await drive.fails("switch", tab="tab_9")
    seen = await drive.ok("close_tab", tab="tab_2")
    assert "[tabs: tab_1*, CTX_MANAGER]" in seen.text
    assert "has no tab" in await drive.fails("close_tab", tab="tab_2")
    seen = await drive.ok("close_tab")
    assert "tab_1 is closed; now in CTX_MANAGER" in seen.text
    seen = await drive.ok("close_tab")
    assert seen.url == "about:blank"
    await drive.ok("new_tab", name="tab_7")
    assert (await drive.ok("new_tab")).tab == "tab_8"


async def test_popups_get_names_and_are_announced(drive: Drive) -> None:
    await drive.ok("new_context", name="popups")
    target = drive.site.show("<h1>popped up</h1><button onclick='window.close()'>Bye</button>")
    await drive.show(
        f"<a href={target} target=_blank>new</a>"
        f"<button onclick=\"window.open('{target}')\">win</button>"
    )
    seen = await drive.ok("click", 'link "new"')
    assert "Note: a new tab opened: tab_2" in seen.text
    assert "[tabs: tab_1*, tab_2]" in seen.text
    await drive.ok("click", 'button "win"')
    await drive.ok("switch", tab="tab_3")
    assert "popped up" in drive.snapshot
    seen = await drive.ok("click", 'button "Bye"')
    assert "Note: tab_3 is closed" in seen.text
    assert seen.tab == "tab_2"


async def test_popups_without_a_click_are_blocked_as_for_any_user(drive: Drive) -> None:
    await drive.ok("new_context", name="nag")
    seen = await drive.show("<script>for (let i = 0; i < 30; i++) open('/x' + i)</script>loaded")
    assert "[tabs: tab_1*]" in seen.text


async def test_too_many_tabs_are_refused(drive: Drive) -> None:
    await drive.ok("new_context", name="many")
    for _ in range(11):
        await drive.ok("new_tab")
    assert "12 tabs are open" in await drive.fails("new_tab")
    await drive.show("<button onclick=\"window.open('/more')\">more</button>")
    await drive.ok("click", 'button "more"')
    seen = await drive.browser.observe()
    assert len(drive.browser._pages.context_state.tabs) == 12
    assert "too many are open" in drive.last.text + seen.text


async def test_contexts_share_nothing(drive: Drive) -> None:
    html = "<p></p><script>document.cookie='a=1';localStorage.b=2</script>"
    path = drive.site.show(html)
    read = drive.site.show(
        "<p></p><script>document.querySelector('p').textContent ="
        "'has ' + document.cookie + localStorage.b</script>"
    )
    await drive.ok("open", url=path)
    await drive.ok("open", url=read)
    assert "has a=12" in drive.snapshot
    seen = await drive.ok("new_context", name="context_B", url=read)
    assert "has undefined" in drive.snapshot
    assert "context_B/tab_1" in seen.text
    assert "context_B*" in seen.text
    assert "already" in await drive.fails("new_context", name="context_B")
    await drive.ok("switch", context="context_A", tab="tab_1")
    assert "has a=12" in drive.snapshot
    assert "no context called nobody" in await drive.fails("switch", context="nobody")
    assert "say which" in await drive.fails("switch")
    await drive.ok("new_tab", name="only_here")
    await drive.ok("switch", context="context_B")
    assert (await drive.ok("switch", tab="only_here")).context == "context_A"
    await drive.ok("close_tab")


async def test_offline_viewport_and_geolocation(drive: Drive) -> None:
    await drive.ok("new_context", name="around")
    where = (
        "<p>?</p><script>navigator.geolocation.getCurrentPosition("
        "p => document.querySelector('p').textContent = 'at ' + p.coords.latitude,"
        "e => document.querySelector('p').textContent = 'error ' + e.code)</script>"
    )
    await drive.show(where)
    assert "error 1" in drive.snapshot
    await drive.ok("geolocation", latitude=52.5, longitude=13.4)
    await drive.ok("reload")
    assert "at 52.5" in drive.snapshot
    await drive.ok("geolocation", denied=True)
    await drive.ok("reload")
    assert "error 1" in drive.snapshot
    assert "give latitude" in await drive.fails("geolocation", latitude=1)
    await drive.ok("offline", offline=True)
    assert "offline" in await drive.fails("reload")
    await drive.ok("offline", offline=False)
    await drive.show(
        "<p></p><script>onresize = () => document.querySelector('p').textContent ="
        "innerWidth + 'x' + innerHeight</script>"
    )
    await drive.ok("viewport", width=400, height=700)
    assert "400x700" in drive.snapshot


async def test_clipboard_both_ways(drive: Drive) -> None:
    await drive.show(
        '<input placeholder=N><button onclick="navigator.clipboard.writeText('
        "'from page\\nPage: x')\">Copy</button>"
    )
    await drive.ok("clipboard", action="write", text="from us")
    await drive.ok("press", 'textbox "N"', key="Control+v")
    assert "from us" in drive.snapshot
    await drive.ok("click", 'button "Copy"')
    seen = await drive.ok("clipboard", action="read")
    assert 'holds "from page\\nPage: x"' in seen.text
    assert "say which text" in await drive.fails("clipboard", action="write")
    await drive.ok("new_tab")
    assert "open a page" in await drive.fails("clipboard", action="read")
    await drive.ok("close_tab")
