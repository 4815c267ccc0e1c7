# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Serves one page at every path."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if "visit=1" not in (self.headers["Cookie"] or ""):
            self.send_response(302)
            self.send_header("Set-Cookie", "visit=1; Path=/")
            self.send_header("Location", "/login")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        page = b"<!DOCTYPE html><title>Up</title><h1>Up</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["APPLICATION_PORT"])), Handler).serve_forever()
