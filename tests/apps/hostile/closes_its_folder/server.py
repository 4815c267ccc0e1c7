# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Serves one page at every path."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        page = b"<!DOCTYPE html><title>Up</title><h1>Up</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["APPLICATION_PORT"])), Handler).serve_forever()
