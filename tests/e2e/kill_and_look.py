# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Starts a command, kills it without warning after a while, and says what is left of it.

    python kill_and_look.py AFTER_S PATIENCE_S COMMAND...

As a child subreaper every orphan of the command becomes a child of this program, so what is left
can be told apart from everything else on the machine. Prints JSON: `ended` (the command was done
before the kill), `left` (command lines still there after PATIENCE_S).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    after, patience, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(float(after))
        ended = True
    except subprocess.TimeoutExpired:
        ended = False
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + float(patience)
    left = descendants()
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        reap()
        left = descendants()
    sys.stdout.write(json.dumps({"ended": ended, "left": left}))


def reap() -> None:
    """Collect orphans that have ended."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def descendants() -> list[str]:
    """Command lines of everything that is alive below this program."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if stat[0] != "Z":
                parents[int(entry.name)] = int(stat[1])
    found: set[int] = {os.getpid()}
    grew = True
    while grew:
        new = {pid for pid, parent in parents.items() if parent in found} - found
        found |= new
        grew = bool(new)
    lines = []
    for pid in found - {os.getpid()}:
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        lines.append(f"{pid} {line.decode(errors='replace')[:200]}")
    return lines


if __name__ == "__main__":
    main()
