# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Starts a command, kills it without warning after a while, and says what is left of it.

    python kill_and_look.py AFTER_S PATIENCE_S COMMAND...

As a child subreaper every orphan of the command becomes a child of this program, so what is left
can be told apart from everything else on the machine. Prints JSON: `ended` (the command was done
before the kill), `left` (command lines still there after PATIENCE_S).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

import psutil

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
    lines = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                lines.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
    return lines


if __name__ == "__main__":
    main()
