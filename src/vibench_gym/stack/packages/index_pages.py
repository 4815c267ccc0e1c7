# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Package metadata with its links turned to the mirror: pure functions over untrusted text.

A link is handed to `route`, which gives the mirror's URL for it, or None where the mirror may not
fetch it: such a file is left out of the page.
"""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

if TYPE_CHECKING:
    from collections.abc import Callable

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "text/html; charset=utf-8"

type Route = "Callable[[str], str | None]"


def simple_json(raw: bytes, base_url: str, route: Route) -> bytes:
    """A JSON simple page with its files routed through the mirror.

    Raises:
        ValueError: it is not a simple page.
    """
    page = _page(raw)
    files = []
    for file in page["files"]:
        url = route(urljoin(base_url, str(file["url"])))
        if url is not None:
            files.append({**file, "url": url})
    return json.dumps({**page, "files": files}).encode()


def simple_html_from_json(raw: bytes, base_url: str, route: Route) -> bytes:
    """The same page as HTML, for clients that ask for nothing newer.

    Raises:
        ValueError: it is not a simple page.
    """
    anchors = []
    for file in _page(raw)["files"]:
        url = route(urljoin(base_url, str(file["url"])))
        if url is not None:
            anchors.append(_anchor(url, file))
    return _document(anchors)


def simple_html(raw: bytes, base_url: str, route: Route) -> bytes:
    """An HTML simple page with its anchors routed through the mirror."""
    parser = _Anchors()
    parser.feed(raw.decode("utf-8", errors="replace"))
    anchors = []
    for attributes, text in parser.found:
        link, fragment = urldefrag(urljoin(base_url, attributes.pop("href")))
        url = route(link)
        if url is None:
            continue
        href = f"{url}#{fragment}" if fragment else url
        anchors.append(_render({"href": href, **attributes}, text))
    return _document(anchors)


def packument(raw: bytes, registry: str, route: Route) -> bytes:
    """An npm packument with its tarballs routed through the mirror.

    Raises:
        ValueError: it is not JSON.
    """
    start = b'"tarball":"'
    here = start + registry.encode()
    mirrored = route(registry)
    # Compact JSON whose tarballs are all the registry's own needs no parsing: it can be large.
    found = raw.count(start)
    if mirrored is not None and found and found == raw.count(here):
        return raw.replace(here, start + mirrored.encode())
    document = json.loads(raw)
    versions = document.get("versions") if isinstance(document, dict) else None
    if not isinstance(versions, dict):
        return raw
    kept = {}
    for number, version in versions.items():
        url = route(str(version["dist"]["tarball"]))
        if url is not None:
            kept[number] = {**version, "dist": {**version["dist"], "tarball": url}}
    return json.dumps({**document, "versions": kept}).encode()


def _page(raw: bytes) -> dict[str, Any]:
    page = json.loads(raw)
    if not isinstance(page, dict) or not isinstance(page.get("files"), list):
        raise ValueError("not a simple page")  # noqa: TRY004 (the text is at fault)
    return page


def _anchor(url: str, file: dict[str, Any]) -> str:
    hashes = file.get("hashes") or {}
    fragment = "".join(f"#{name}={value}" for name, value in list(hashes.items())[:1])
    attributes = {"href": url + fragment}
    if file.get("requires-python"):
        attributes["data-requires-python"] = str(file["requires-python"])
    if file.get("yanked"):
        reason = file["yanked"]
        attributes["data-yanked"] = reason if isinstance(reason, str) else ""
    metadata = file.get("core-metadata")
    if metadata:
        first = next(iter(metadata.items()), None) if isinstance(metadata, dict) else None
        attributes["data-core-metadata"] = f"{first[0]}={first[1]}" if first else "true"
    return _render(attributes, str(file.get("filename", "")))


def _render(attributes: dict[str, str], text: str) -> str:
    rendered = " ".join(f'{k}="{html.escape(v)}"' for k, v in attributes.items())
    return f"<a {rendered}>{html.escape(text)}</a><br>"


def _document(anchors: list[str]) -> bytes:
    return ("<!DOCTYPE html><html><body>\n" + "\n".join(anchors) + "\n</body></html>\n").encode()


class _Anchors(HTMLParser):
    """Collects `(attributes, text)` of every anchor with a link."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str], str]] = []
        self._open: dict[str, str] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in attributes:
            self._open, self._text = attributes, ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            self.found.append((self._open, self._text.strip()))
            self._open = None
