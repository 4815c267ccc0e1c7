# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The pantry's web server: the standard library's, one database connection per request."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pages
import store

STATIC = {
    path.name: path.read_bytes() for path in Path(__file__).with_name("static").iterdir()
}
TYPES = {".css": "text/css", ".js": "text/javascript"}
BODY_LIMIT = 64 * 1024


class Refused(Exception):
    """What the user entered cannot be taken; the text says why."""


def today() -> date:
    return datetime.now(UTC).date()


def parse_quantity(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or int(text) == 0:
        raise Refused("Quantity must be a whole number from 1 to 999.")
    return int(text)


def parse_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Refused("Best before must be a date.") from None


def add_item(form: dict[str, str]) -> str:
    """Add what the form says and return the item's name."""
    name = " ".join(form.get("name", "").split())
    if not name:
        raise Refused("Name is required.")
    if len(name) > 60:
        raise Refused("Name must have at most 60 characters.")
    unit, shelf = form.get("unit", ""), form.get("shelf", "")
    if unit not in store.UNITS or shelf not in store.SHELVES:
        raise Refused("Choose a unit and a shelf.")
    quantity = parse_quantity(form.get("quantity", "").strip())
    best_before = parse_date(form.get("best_before", ""))
    try:
        store.add(name, quantity, unit, shelf, best_before)
    except store.DuplicateName:
        raise Refused(f"{name} is already in your pantry.") from None
    return name


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/":
            search, shelf = query.get("search", "").strip(), query.get("shelf", "")
            added = query.get("added")
            self.stock(search=search, shelf=shelf, notice=f"Added {added}." if added else "")
        elif url.path == "/shopping":
            self.html(pages.shopping_page(store.used_up()))
        elif url.path.startswith("/static/") and url.path[8:] in STATIC:
            name = url.path[8:]
            self.send(200, TYPES[Path(name).suffix], STATIC[name])
        else:
            self.send(404, "text/plain", b"Not found")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_LIMIT:
            self.send(413, "text/plain", b"Too much")
            return
        body = self.rfile.read(length).decode("utf-8", "replace")
        form = {key: values[0] for key, values in parse_qs(body).items()}
        path = urlsplit(self.path).path
        if path == "/items":
            try:
                self.redirect("/?" + urlencode({"added": add_item(form)}))
            except Refused as refusal:
                self.stock(values=form, error=str(refusal))
        elif match := re.fullmatch(r"/items/([0-9]{1,9})/(use|more|delete|bought)", path):
            self.act(int(match[1]), match[2], form)
        else:
            self.send(404, "text/plain", b"Not found")

    def act(self, item_id: int, verb: str, form: dict[str, str]) -> None:
        if verb == "use":
            store.change_quantity(item_id, -1)
        elif verb == "more":
            store.change_quantity(item_id, +1)
        elif verb == "delete":
            store.delete(item_id)
        else:
            try:
                store.restock(item_id, parse_quantity(form.get("quantity", "").strip()))
            except Refused as refusal:
                self.html(pages.shopping_page(store.used_up(), str(refusal)))
                return
        self.redirect("/shopping" if verb == "bought" else "/")

    def stock(
        self,
        *,
        search: str = "",
        shelf: str = "",
        values: dict[str, str] | None = None,
        error: str = "",
        notice: str = "",
    ) -> None:
        page = pages.stock_page(
            store.in_stock(search, shelf),
            len(store.used_up()),
            today(),
            search=search,
            shelf=shelf,
            values=values,
            error=error,
            notice=notice,
        )
        self.html(page)

    def html(self, page: str) -> None:
        self.send(200, "text/html; charset=utf-8", page.encode())

    def redirect(self, location: str) -> None:
        self.send(303, "text/plain", b"", {"Location": location})

    def send(
        self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(os.environ.get("APPLICATION_PORT", "8000"))
    print(f"Pantry listens on port {port}", flush=True)
    ThreadingHTTPServer(("0.0.0.0", port), Handler).serve_forever()
