# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An app that works behind very many elements or very much text, and its test plan.

A person uses it without noticing: a button near the top, a field, a button at the very end. The
bulk lies between and is made by a script, so that the page itself is small to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.counter_app import write_files
from vibench_gym.core.tasks.task import load_task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.core.tasks.task import Task

COLUMNS: Final = 26
_TABLE = (
    "'<table border=1>' + Array.from({length: ROWS}, (_, row) => '<tr>' + Array.from({length: 26},"
    "(_, column) => `<td>r${row}c${column}</td>`).join('') + '</tr>').join('') + '</table>'"
)
_HIDDEN = "'<div hidden>' + '<p><button>Nothing</button></p>'.repeat(ROWS) + '</div>'"
_TEXT = (
    "Array.from({length: ROWS}, (_, row) => `<p><b>${row}</b>${'word '.repeat(60)}</p>`).join('')"
)


def table(elements: int) -> str:
    """The bulk of a visible table of so many elements, as an expression of the page's script."""
    return _TABLE.replace("ROWS", str(elements // (COLUMNS + 1)))


def dense(elements: int) -> str:
    """That of a table in so small a type that a screen of it is more than a judge is shown."""
    return f"'<style>td {{font: 3px monospace; padding: 0}}</style>' + {table(elements)}"


def hidden(elements: int) -> str:
    """That of so many elements that are not displayed."""
    return _HIDDEN.replace("ROWS", str(elements // 2))


def text(elements: int) -> str:
    """That of so many elements with 150 characters each: 30 MB for 200,000."""
    return _TEXT.replace("ROWS", str(elements // 2))


WORKING: Final = """
  at('save').onclick = () => { at('saved').textContent = 'Saved: ' + at('note').value; };
  at('finish').onclick = () => { at('end').textContent = 'Finished'; };
"""


def page(bulk: str, script: str = WORKING) -> str:
    """The app's one page; without its script none of its features is there."""
    return f"""<!doctype html><meta charset=utf-8><title>Stock</title><body>
<h1>Stock</h1><label>Note <input id=note></label><button id=save>Save</button><p id=saved></p>
<div id=bulk></div><button id=finish>Finish</button><p id=end></p>
<script>
  const at = id => document.getElementById(id);
  at('bulk').innerHTML = {bulk};
  {script}
</script>"""


_SERVER = '''"""Serves its one page."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = Path("/app/page.html").read_bytes()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["APPLICATION_PORT"])), Handler).serve_forever()
'''
_PLAN = """<test_plan>
<purpose>To see that the stock list can be used.</purpose>
<seeding_and_precondition>N/A</seeding_and_precondition>
<steps>
<step><name>saves</name>Open the app, write a note, save it. It is shown.<points>4</points></step>
<step><name>finishes</name>Go to the end of the page and finish.<points>6</points></step>
</steps>
<full_points>10</full_points>
</test_plan>
"""
_SCRIPT = """role: qa
steps:
  - name: saves
    script:
      - open: {url: /}
      - fill: {ref: 'textbox "Note"', text: twelve}
      - click: {ref: 'button "Save"'}
      - check: The note is shown
        see: ['Saved: twelve']
  - name: finishes
    script:
      - press: {key: End}
      - click: {ref: 'button "Finish"'}
      - check: It says that it is finished
        see: ['Finished']
"""


def app(html: str) -> Mapping[str, str]:
    """The files of the app that shows a page."""
    return {
        "setup-environment.sh": "true\n",
        "start-server.sh": "exec python server.py\n",
        "server.py": _SERVER,
        "page.html": html,
    }


def make_stock_task(root: Path) -> Task:
    """The task of the app: two steps, ten points."""
    files = {
        "prd/mvp.txt": "A list of stock.",
        "tests/mvp/test1.txt": _PLAN,
        "replay/mvp/test1.qa.yaml": _SCRIPT,
    }
    return load_task(write_files(root / "stock", files))
