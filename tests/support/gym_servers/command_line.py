# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""NeMo Gym's command line as an operator uses it, and what a run leaves on the host.

Needs nemo-gym.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

READY_TIMEOUT_S = 240.0
STOP_TIMEOUT_S = 60.0
GONE_TIMEOUT_S = 120.0
RAY_TRIES = 5
_RAY_FAILED = "node timed out during startup"
_BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(markdown: str, section: str) -> list[str]:
    """The commands of a section's `bash` blocks, continued lines joined, comments dropped."""
    body = markdown.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    text = "\n".join(match[1] for match in _BLOCK.finditer(body)).replace("\\\n", " ")
    lines = (re.sub(r"\s+#.*$", "", line).strip() for line in text.splitlines())
    return [" ".join(line.split()) for line in lines if line and not line.startswith("#")]


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def marked_processes(mark: str) -> dict[int, str]:
    """Live processes of which the environment or the command line holds a text, by pid."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            line = (folder / "cmdline").read_bytes()
            if line and mark.encode() in line + (folder / "environ").read_bytes():
                found[int(folder.name)] = line.replace(b"\0", b" ").decode(errors="replace")[:200]
    return found


@dataclass
class ShellCommand:
    """A command that goes on until it is stopped, as a context manager."""

    text: str
    cwd: Path
    env: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["/bin/bash", "-c", f"exec {self.text}"],
                cwd=self.cwd,
                env=dict(self.env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait_until(self, url: str) -> None:
        """Wait until a URL answers with success.

        Raises:
            RuntimeError: the command ended, or time is up; with the end of its log.
        """
        until = time.monotonic() + READY_TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(url, timeout=5, trust_env=False).status_code == httpx.codes.OK:
                    return
            time.sleep(0.5)
        raise RuntimeError(f"{self.text} is not ready:\n{self.log.read_text()[-4000:]}")


@contextlib.contextmanager
def gym_servers(
    text: str, cwd: Path, env: Mapping[str, str], log: Path, head_port: int
) -> Iterator[ShellCommand]:
    """`gym env start`, ready; stopped on the way out.

    Ray gives its own processes 15 s to say on which port they listen, and ends where a busy host
    takes longer: then the command is tried again.

    Raises:
        RuntimeError: the servers do not become ready.
    """
    for tries_left in range(RAY_TRIES - 1, -1, -1):
        with ShellCommand(text, cwd, env, log) as started:
            try:
                started.wait_until(f"http://127.0.0.1:{head_port}/readyz")
            except RuntimeError as error:
                if tries_left and _RAY_FAILED in str(error):
                    continue
                raise
            yield started
            return


def until_gone(mark: str) -> dict[int, str]:
    """What is left of the marked processes once they had time to end."""
    until = time.monotonic() + GONE_TIMEOUT_S
    while (left := marked_processes(mark)) and time.monotonic() < until:
        time.sleep(1)
    return left


def with_overrides(command: str, overrides: Sequence[str]) -> str:
    """A command of NeMo Gym with settings added at its end."""
    return " ".join((command, *map(shlex.quote, overrides)))


@dataclass
class Watch:
    """Looks twice a second at processes and all that come from them, as a context manager.

    What it has seen it knows again by pid and start time, whoever its parent is by then.
    """

    roots: Sequence[int]
    peak_rss_bytes: int = 0
    """Highest sum of resident memory; pages that processes share count for each of them."""
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join(10)

    def alive(self) -> set[int]:
        """Those that were seen and still run."""
        return {
            pid for pid, (_, started, _) in _processes().items() if (pid, started) in self._seen
        }

    def until_gone(self) -> set[int]:
        """What is left once they had time to end."""
        until = time.monotonic() + GONE_TIMEOUT_S
        while (left := self.alive()) and time.monotonic() < until:
            time.sleep(0.5)
        return left

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            found = _processes()
            ours = set(self.roots) | self.alive()
            grown = True
            while grown:
                children = {pid for pid, (parent, _, _) in found.items() if parent in ours}
                grown = not children <= ours
                ours |= children
            ours &= found.keys()
            self._seen |= {(pid, found[pid][1]) for pid in ours}
            self.peak_rss_bytes = max(self.peak_rss_bytes, sum(found[pid][2] for pid in ours))


def _processes() -> dict[int, tuple[int, int, int]]:
    """Parent, start time and resident bytes of every process that is no zombie, by pid."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                if fields[0] != "Z":
                    page = os.sysconf("SC_PAGESIZE")
                    found[int(folder.name)] = (
                        int(fields[1]),
                        int(fields[19]),
                        int(fields[21]) * page,
                    )
    return found
