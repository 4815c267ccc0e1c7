# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Lists notes and adds them; shows its environment value GREETING."""

import html
import os
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

URL = os.environ["POSTGRES_DATABASE_URL"]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        with psycopg.connect(URL) as db:
            notes = db.execute("select text from notes order by id").fetchall()
        items = "".join(f"<li>{html.escape(text)}</li>" for (text,) in notes)
        greeting = html.escape(os.environ.get("GREETING", "Hello"))
        page = (
            f"<!DOCTYPE html><title>Notes</title><h1>{greeting}</h1><ul>{items}</ul>"
            '<form method="post"><input name="text" aria-label="Text"><button>Add</button></form>'
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        with psycopg.connect(URL) as db:
            db.execute("insert into notes (text) values (%s)", (form["text"][0],))
        self.send_response(303)
        self.send_header("Location", "/")
        self.end_headers()


ThreadingHTTPServer(("0.0.0.0", int(os.environ["APPLICATION_PORT"])), Handler).serve_forever()
