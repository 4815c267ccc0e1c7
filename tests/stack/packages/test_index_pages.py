# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from vibench_gym.stack.packages import index_pages

BASE = "https://index.example/simple/pkg/"


def route(url: str) -> str | None:
    if url.startswith("https://files.example/"):
        return url.replace("https://files.example/", "http://m/-/file/files.example/")
    if url.startswith("https://index.example/"):
        return url.replace("https://index.example/", "http://m/-/file/index.example/")
    return None


PAGE = {
    "meta": {"api-version": "1.1"},
    "name": "pkg",
    "files": [
        {
            "filename": "pkg-1.whl",
            "url": "https://files.example/pkg-1.whl",
            "hashes": {"sha256": "aa"},
            "requires-python": ">=3.9",
            "core-metadata": {"sha256": "bb"},
            "yanked": "broken",
        },
        {"filename": "pkg-1.tar.gz", "url": "../../pkg-1.tar.gz", "hashes": {}},
        {"filename": "evil.whl", "url": "http://10.0.0.1/evil.whl", "hashes": {}},
    ],
}


def test_json_page_is_routed_and_foreign_files_are_left_out() -> None:
    page = json.loads(index_pages.simple_json(json.dumps(PAGE).encode(), BASE, route))
    assert [file["url"] for file in page["files"]] == [
        "http://m/-/file/files.example/pkg-1.whl",
        "http://m/-/file/index.example/pkg-1.tar.gz",
    ]
    assert page["files"][0]["core-metadata"] == {"sha256": "bb"}


def test_json_page_as_html_keeps_what_pip_needs() -> None:
    page = index_pages.simple_html_from_json(json.dumps(PAGE).encode(), BASE, route).decode()
    assert 'href="http://m/-/file/files.example/pkg-1.whl#sha256=aa"' in page
    assert 'data-requires-python="&gt;=3.9"' in page
    assert 'data-core-metadata="sha256=bb"' in page
    assert 'data-yanked="broken"' in page
    assert "evil" not in page


def test_html_page_is_routed() -> None:
    raw = (
        b'<a href="https://files.example/pkg-1.whl#sha256=aa" data-requires-python="&gt;=3.9">'
        b'pkg-1.whl</a><a href="../../pkg.zip">pkg.zip</a><a name="x">no link</a>'
        b'<a href="http://10.0.0.1/evil.whl">evil</a><a href="javascript:x">j</a>'
    )
    page = index_pages.simple_html(raw, BASE, route).decode()
    assert (
        '<a href="http://m/-/file/files.example/pkg-1.whl#sha256=aa" '
        'data-requires-python="&gt;=3.9">pkg-1.whl</a>'
    ) in page
    assert 'href="http://m/-/file/index.example/pkg.zip"' in page
    assert "evil" not in page
    assert "javascript" not in page


@pytest.mark.parametrize("raw", [b"[]", b"{}", b'{"files": 1}', b"<html>"])
def test_what_is_no_page_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        index_pages.simple_json(raw, BASE, route)


@pytest.mark.parametrize("indent", [None, 2])
def test_packument_tarballs_are_routed(indent: int | None) -> None:
    separators = (",", ":") if indent is None else None
    document = {
        "name": "p",
        "versions": {"1.0.0": {"dist": {"tarball": "https://index.example/p/-/p-1.0.0.tgz"}}},
    }
    raw = json.dumps(document, indent=indent, separators=separators).encode()
    done = json.loads(index_pages.packument(raw, "https://index.example/", route))
    tarball = done["versions"]["1.0.0"]["dist"]["tarball"]
    assert tarball == "http://m/-/file/index.example/p/-/p-1.0.0.tgz"


def test_packument_versions_from_elsewhere_are_left_out() -> None:
    versions = {
        "1.0.0": {"dist": {"tarball": "https://index.example/p/-/p-1.0.0.tgz"}},
        "2.0.0": {"dist": {"tarball": "http://169.254.169.254/p.tgz"}},
    }
    raw = json.dumps({"versions": versions}, separators=(",", ":")).encode()
    done = json.loads(index_pages.packument(raw, "https://index.example/", route))
    assert set(done["versions"]) == {"1.0.0"}


def test_other_json_passes_unchanged() -> None:
    assert index_pages.packument(b'{"latest":"1"}', "https://index.example/", lambda _: None) == (
        b'{"latest":"1"}'
    )
