# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The app that the stack contract stands up: one page at every path, from Python alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.stack.base import SETUP_SCRIPT, START_SCRIPT

if TYPE_CHECKING:
    from pathlib import Path

EXTRA_PORT_VARIABLE = "CONTRACT_PORT"
"""Where it is set in the app's environment, the contract's app listens there, too."""
EXTRA_PORT = 8123
SETUP_WORDS = "no such package"
START_WORDS = "cannot find module"
_SERVER = f"""
import http.server, os, threading
page = b"<!DOCTYPE html><title>Up</title><h1>Up</h1>"
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
def server(port):
    return http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Page)
if extra := os.environ.get("{EXTRA_PORT_VARIABLE}"):
    threading.Thread(target=server(extra).serve_forever, daemon=True).start()
server(os.environ["APPLICATION_PORT"]).serve_forever()
"""


def contract_app(
    folder: Path, *, set_up: str = "true", start: str = "exec python3 server.py"
) -> Path:
    """Write the app that the contract is about: one page at every path."""
    folder.mkdir(parents=True)
    (folder / SETUP_SCRIPT).write_text(f"{set_up}\n", encoding="utf-8")
    (folder / START_SCRIPT).write_text(f"{start}\n", encoding="utf-8")
    (folder / "server.py").write_text(_SERVER, encoding="utf-8")
    return folder
