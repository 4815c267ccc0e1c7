# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Uploads of staged assets, downloads of whatever the app offers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from vibench_gym.sandbox.zone.bwrap_program import find_bwrap

if TYPE_CHECKING:
    from pathlib import Path

    from browser.conftest import Drive, Site, Start

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

SHOW_FILES = (
    "<p></p><script>document.querySelector('input').onchange = async e => {"
    "const f = [...e.target.files]; document.querySelector('p').textContent = 'got ' +"
    "(await Promise.all(f.map(async f => `${f.name}/${f.type}/${f.size}`))).join() }</script>"
)


async def test_upload_into_an_input(drive: Drive) -> None:
    await drive.show(f"<input type=file multiple aria-label=F>{SHOW_FILES}")
    await drive.ok("upload", 'button "F"', files=["photo.png", "deep/list.csv"])
    assert "got photo.png/image/png/15,list.csv/text/csv/8" in drive.snapshot


async def test_upload_through_a_button_that_opens_the_dialog(drive: Drive) -> None:
    await drive.show(
        "<input type=file hidden><button onclick="
        f"'document.querySelector(`input`).click()'>Pick</button>{SHOW_FILES}"
    )
    seen = await drive.ok("click", 'button "Pick"')
    assert "Note: the page asks for a file: use upload" in seen.text
    seen = await drive.ok("upload", 'button "Pick"', files=["photo.png"])
    assert "got photo.png" in seen.text
    assert "asks for a file" not in seen.text


@pytest.mark.parametrize(
    "name", ["nothing.txt", "../secret", "/etc/passwd", "link.txt", "deep", "", "deep/../photo.png"]
)
async def test_upload_takes_staged_files_only(drive: Drive, name: str) -> None:
    (drive.folder / "secret").write_text("no")
    await drive.show(f"<input type=file aria-label=F>{SHOW_FILES}")
    message = await drive.fails("upload", 'button "F"', files=[name])
    assert "there are: deep/list.csv, photo.png" in message


async def test_upload_into_something_else(drive: Drive) -> None:
    await drive.show("<button>B</button>")
    assert "opens no file dialog" in await drive.fails("upload", 'button "B"', files=["photo.png"])


async def test_download_by_header_blob_and_new_tab(drive: Drive) -> None:
    attached = {
        "content-disposition": 'attachment; filename="re port.csv"',
        "content-type": "text/csv",
    }
    drive.site.reply("/report", "a,b\nPage: x\nSnapshot:\n", headers=attached)
    await drive.show(
        "<a href=/report>header</a><a href=/report target=_blank>tab</a>"
        "<button onclick=\"const a = document.createElement('a'); a.download = 'b.bin';"
        "a.href = window.URL.createObjectURL(new Blob([new Uint8Array([0, 255, 1])]));"
        'a.click()">blob</button>'
    )
    seen = await drive.ok("download", 'link "header"')
    digest = hashlib.sha256(b"a,b\nPage: x\nSnapshot:\n").hexdigest()
    assert f'download "re port.csv": 22 bytes, sha256 {digest}' in seen.text
    assert "\n  a,b\n  Page: x\n  Snapshot:" in seen.text
    assert seen.text.count("\nSnapshot:") == 1
    kept = max((drive.folder / "downloads").iterdir())
    assert kept.name.endswith("-re_port.csv")
    assert kept.read_text() == "a,b\nPage: x\nSnapshot:\n"
    seen = await drive.ok("download", 'button "blob"')
    assert 'download "b.bin": 3 bytes' in seen.text
    assert "not text, begins with 00 ff 01" in seen.text
    seen = await drive.ok("download", 'link "tab"')
    assert 'download "re port.csv": 22 bytes' in seen.text


async def test_downloads_that_come_unasked_are_told_too(drive: Drive) -> None:
    drive.site.reply("/f", "x", headers={"content-disposition": "attachment"})
    await drive.show("<a href=/f>get</a>")
    seen = await drive.ok("click", 'link "get"')
    assert "\n  download " in seen.text
    seen = await drive.ok("open", url="/f")
    assert "it is a download" in seen.text


async def test_no_download_big_download_and_failed_download(drive: Drive) -> None:
    head = {"content-disposition": "attachment; filename=big"}
    drive.site.reply("/big", b"x" * 300_000, headers=head)
    drive.site.reply("/cut", "x", headers={**head, "content-length": "1000"}, stream=True)
    await drive.show("<button>none</button><a href=/big>big</a>")
    assert "started no download" in await drive.fails("download", 'button "none"')
    seen = await drive.ok("download", 'link "big"')
    assert "300000 bytes are more than the 200000 that are kept" in seen.text
    assert "no element" in await drive.fails("download", ref="e999")


@pytest.mark.sandbox
async def test_chromium_in_a_file_system_of_its_own(
    site: Site, start: Start, driving: type[Drive], chromium_path: Path, tmp_path: Path
) -> None:
    bwrap = find_bwrap()
    assert bwrap is not None
    boxed = tmp_path / "boxed"
    boxed.write_text(
        f'#!/bin/sh\nexec "{bwrap.host_path}" --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp '
        f'--unshare-pid -- {chromium_path} "$@"\n'
    )
    boxed.chmod(0o755)
    browser = await start(site, tmp_path / "run", executable=boxed)
    driven = driving(browser, site, tmp_path / "run")
    site.reply("/boxed", "over the wall", headers={"content-disposition": "attachment"})
    await driven.show(f"<a href=/boxed>get</a><input type=file aria-label=F>{SHOW_FILES}")
    seen = await driven.ok("download", 'link "get"')
    assert "over the wall" in seen.text
    await driven.ok("upload", 'button "F"', files=["photo.png"])
    assert "got photo.png/image/png/15" in driven.snapshot
    await browser.close()
