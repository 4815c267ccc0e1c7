# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An honest app that counts, and its task: three steps, ten points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.core.tasks.task import load_task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.core.tasks.task import Task

SERVER = '''"""Counts, and asks its database."""

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

START = Path("/app/count.txt")
COUNT = [int(START.read_text()) if START.exists() else 0]


def stored() -> str:
    ask = ["psql", os.environ["POSTGRES_DATABASE_URL"], "-tAc", "select 40 + 2"]
    return subprocess.run(ask, capture_output=True, text=True, timeout=20).stdout.strip()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.attack()
        if self.path == "/press":
            COUNT[0] += 1
        text = f"Stored: {stored()}" if self.path == "/stored" else f"Count: {COUNT[0]}"
        page = f"<!doctype html><title>Counter</title>\\n<h1>{text}</h1>\\n{self.extra()}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def attack(self) -> None:
        pass

    def extra(self) -> str:
        return ""

    def log_message(self, *_: object) -> None:
        pass


# ATTACK
ThreadingHTTPServer(("127.0.0.1", int(os.environ["APPLICATION_PORT"])), Handler).serve_forever()
'''
HONEST: Mapping[str, str] = {
    "setup-environment.sh": "true\n",
    "start-server.sh": "exec python server.py\n",
    "server.py": SERVER,
}
PLAN = """<test_plan>
<purpose>To see that the counter counts.</purpose>
<seeding_and_precondition>{precondition}</seeding_and_precondition>
<steps>
<step><name>shows</name>Open the app. The count is {0}.<points>2</points></step>
<step><name>counts</name>Open /press. The count is one more.<points>3</points></step>
<step><name>stores</name>Open /stored. It shows what is stored.<points>5</points></step>
</steps>
<full_points>10</full_points>
</test_plan>
"""
QA = """role: qa
steps:
  - name: shows
    script:
      - open: {{url: /}}
      - check: The count starts where it should
        see: ['Count: {0}<']
  - name: counts
    script:
      - open: {{url: /press}}
      - check: The count is one more
        see: ['Count: {1}<']
  - name: stores
    script:
      - open: {{url: /stored}}
      - check: It shows what is stored
        see: ['Stored: 42<']
"""
SEED = """role: seed
steps:
  - name: seed
    script:
{items}
"""
SEED_ITEMS = """      - write_file: {path: /seeding/seed.sh, content: "echo 10 > /app/count.txt"}
"""


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write texts by their names below a folder, which is made and returned."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def attacked(code: str) -> str:
    """The honest server with some code run before it serves; it may replace Handler's methods."""
    return SERVER.replace("# ATTACK\n", f"{code}\n")


def write_app(folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """The honest app, or a twin with some files changed or added."""
    return write_files(folder, {**HONEST, **(changes or {})})


def make_counter_task(root: Path, *, seed_items: str | None = None) -> Task:
    """The counter's task; with items of a seed script its plan starts at ten."""
    start = 10 if seed_items is not None else 0
    needs = "The count is 10." if seed_items is not None else "N/A"
    files = {
        "prd/mvp.txt": "A counter.",
        "tests/mvp/test1.txt": PLAN.format(start, precondition=needs),
        "replay/mvp/test1.qa.yaml": QA.format(start, start + 1),
    }
    if seed_items is not None:
        files["replay/mvp/test1.seed.yaml"] = SEED.format(items=seed_items)
    return load_task(write_files(root / "counter", files))
