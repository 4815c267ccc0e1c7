# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Starts a command, kills one part of what it started without warning, and says what is left.

    python overseer.py PART AFTER_S SEED TIMEOUT_S PATIENCE_S COMMAND...

What is left can be told from everything else on the machine: as a child subreaper every orphan of
the command becomes a child of this program, and where we are root it has `/dev/shm` and control
groups of its own. A part that is not there after AFTER_S is waited for. Prints JSON: `killed`
(command line, or null where the command ended first), `code` (the command's), `left` (processes,
files in $TMPDIR and `/dev/shm`, mounts and control groups that are there after PATIENCE_S) and
`gone_s` (how long after the command's end it took until nothing was left).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
MS_PRIVATE = 1 << 18
MS_REC = 16384
GROUPS = ("memory", "pids", "cpu")
"""Of version 1; where there is version 2, `tests/sandbox` looks at groups."""
POLL_S = 0.05

# A part is known by a word of its command line; the command itself is the part "grader". What an
# app could kill itself is left out, being scored as if it had: processes of the app, a box's
# first process (a child of bubblewrap's), single processes of PostgreSQL.
WORDS = {
    "zone daemon": ("zone.daemon.main",),
    "bubblewrap": ("bwrap\0--args",),
    "PostgreSQL": ("/postgres\0-D\0",),
    "Chromium": ("/chromium\0", "/chrome\0", "--type="),
    "driver": ("\0run-driver",),
    "janitor": ("vibench_gym.sandbox.cleanup.janitor import",),
    "agent server": ("NEMO_GYM_CONFIG_PATH=vibench_opencode_agent",),
    "resources server": ("NEMO_GYM_CONFIG_PATH=vibench_resources_server",),
    "harness": ("opencode\0run",),
}


def main() -> None:
    part, after, seed, limit, patience, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    own = Own() if os.geteuid() == 0 else None
    dice = random.Random(int(seed))  # noqa: S311 (which process, no secret)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    started = time.monotonic()
    killed = None
    while process.poll() is None and time.monotonic() - started < float(limit):
        if killed is None and time.monotonic() - started >= float(after):
            killed = kill(part, process.pid, dice)
        time.sleep(POLL_S)
        reap(process.pid)
    if process.poll() is None:
        process.kill()
        process.wait()
    ended = time.monotonic()
    while (left := remains(own)) and time.monotonic() < ended + float(patience):
        time.sleep(0.2)
        reap(None)
    gone_s = time.monotonic() - ended
    if own is not None:
        own.close()
    said = {"killed": killed, "code": process.returncode, "left": left, "gone_s": gone_s}
    sys.stdout.write(json.dumps(said))


class Own:
    """A place in memory and control groups that nobody else uses."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        os.unshare(os.CLONE_NEWNS)
        for source, target, kind, flags in (
            (b"none", b"/", b"", MS_REC | MS_PRIVATE),
            (b"tmpfs", b"/dev/shm", b"tmpfs", 0),
        ):
            if libc.mount(source, target, kind, ctypes.c_ulong(flags), None) != 0:
                raise OSError(ctypes.get_errno(), f"mount on {target!r}")
        self.groups: list[Path] = []
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            place = Path(f"/sys/fs/cgroup/{controllers}{path}")
            if controllers in GROUPS and os.access(place, os.W_OK):
                group = place / f"overseer-{os.getpid()}"
                group.mkdir()
                (group / "cgroup.procs").write_text("0")
                self.groups.append(group)

    def remains(self) -> list[str]:
        """What is in them."""
        found = [*Path("/dev/shm").iterdir()]  # noqa: S108 (our own)
        for group in self.groups:
            found += [path for path in group.rglob("*") if path.is_dir()]
        return [str(path) for path in found]

    def close(self) -> None:
        """Leave the groups and remove them."""
        for group in self.groups:
            (group.parent / "cgroup.procs").write_text("0")
            with contextlib.suppress(OSError):
                group.rmdir()


def remains(own: Own | None) -> list[str]:
    """Everything of the command's that is still there."""
    temporary = os.environ["TMPDIR"]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return [
        *descendants().values(),
        *(str(path) for path in Path(temporary).iterdir()),
        *(line for line in mounts if temporary in line),
        *(own.remains() if own is not None else []),
    ]


def kill(part: str, root: int, dice: random.Random) -> str | None:
    """Kill one process of the part; the command line, None where there is none."""
    if part == "grader":
        found = {root: command_line(root)}
    else:
        words = WORDS[part]
        found = {
            pid: line
            for pid, line in descendants().items()
            if any(word in line or word == server(pid, line) for word in words)
        }
        found = {pid: line for pid, line in found.items() if may_kill(part, pid, line)}
    if not found:
        return None
    pid = dice.choice(sorted(found))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return found[pid].replace("\0", " ")[:200]


def may_kill(part: str, pid: int, line: str) -> bool:
    """Whether it is the part itself and not something else that mentions it."""
    box = "bwrap\0--args" in line
    if part == "bubblewrap":
        parent = processes().get(pid, (0, ""))[0]
        return "bwrap\0--args" not in command_line(parent)
    return not box


def server(pid: int, line: str) -> str:
    """Which of the servers a process is, by the environment it was started with."""
    if "\0app.py\0" not in line:
        return ""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    part = next((word for word in words if word.startswith(b"NEMO_GYM_CONFIG_PATH=")), b"")
    return part.decode(errors="replace")


def reap(keep: int | None) -> None:
    """Collect orphans that have ended, but not the command itself."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == keep:
            return
        os.waitpid(ended.si_pid, 0)


def processes() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            found[int(entry.name)] = (int(fields[1]), fields[0])
    return found


def command_line(pid: int) -> str:
    """A process's command line, its words ended by NUL."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def descendants() -> dict[int, str]:
    """Command lines of everything that is alive below this program, by pid."""
    parents = {pid: parent for pid, (parent, state) in processes().items() if state != "Z"}
    found: set[int] = {os.getpid()}
    while new := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= new
    return {pid: command_line(pid) for pid in found - {os.getpid()}}


if __name__ == "__main__":
    main()
