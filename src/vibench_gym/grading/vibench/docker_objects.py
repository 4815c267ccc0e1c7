# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Removes from a Docker engine what one run of ViBench's scripts made there. Standard library only.

What belongs to a run is known by our label (containers, images and networks and volumes that were
made by name), by Compose's own label with the project names in the run's ledger, and by the image
tags there. `docker_shim` writes all three down before anything is made, so that this also cleans
up after a run that was killed.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

LABEL = "org.vibench-gym.run"
COMPOSE_LABEL = "com.docker.compose.project"
LEDGER = "made"
MAX_NAMES = 200
_QUIET_LOOKS = 2
_POLL_S = 0.3
_COMMAND_TIMEOUT_S = 60.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./:@-]{0,254}")
_KINDS = ("container", "network", "volume", "image")
_LIST = {
    "container": ["container", "ls", "--all", "--no-trunc", "--quiet"],
    "network": ["network", "ls", "--no-trunc", "--quiet"],
    "volume": ["volume", "ls", "--quiet"],
    "image": ["image", "ls", "--all", "--no-trunc", "--quiet"],
}
_REMOVE = {
    "container": ["container", "rm", "--force", "--volumes"],
    "network": ["network", "rm"],
    "volume": ["volume", "rm", "--force"],
    "image": ["image", "rm", "--force"],
}


def note(folder: str, kind: str, name: str) -> None:
    """Write a name ("project" or "tag") into a run's ledger, in one append."""
    if _NAME.fullmatch(name):
        with Path(folder, LEDGER).open("a", encoding="ascii") as ledger:
            ledger.write(f"{kind} {name}\n")


def noted(folder: str) -> tuple[list[str], list[str]]:
    """The project names and image tags in a run's ledger."""
    found: dict[str, list[str]] = {"project": [], "tag": []}
    try:
        lines = Path(folder, LEDGER).read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    for line in dict.fromkeys(lines[: 10 * MAX_NAMES]):
        kind, _, name = line.partition(" ")
        if kind in found and len(found[kind]) < MAX_NAMES:
            found[kind].append(name)
    return found["project"], found["tag"]


def remove(docker: str, environment: dict[str, str], run: str, folder: str, limit_s: float) -> str:
    """Remove what a run made; what is left when the time is up, in words, or nothing.

    A request that was under way when its client was killed may still make something: the work is
    done when nothing was there to be seen, twice in a row.
    """
    deadline = time.monotonic() + limit_s
    quiet = 0
    left = "nothing was looked at"
    while quiet < _QUIET_LOOKS:
        try:
            left = _remove_once(docker, environment, run, folder)
        except (OSError, subprocess.SubprocessError) as error:
            left = f"docker does not answer: {type(error).__name__}"
        quiet = 0 if left else quiet + 1
        if quiet < _QUIET_LOOKS:
            if time.monotonic() > deadline:
                return left or "the engine was not quiet yet"
            time.sleep(_POLL_S)
    return ""


def _remove_once(docker: str, environment: dict[str, str], run: str, folder: str) -> str:
    projects, tags = noted(folder)
    filters = [f"label={LABEL}={run}", *(f"label={COMPOSE_LABEL}={name}" for name in projects)]
    seen = []
    for kind in _KINDS:
        names: dict[str, None] = {}
        for one in filters:
            names.update(dict.fromkeys(_list(docker, environment, kind, f"--filter={one}")))
        if kind == "network":
            for project in projects:
                wanted = f"--filter=name=^{re.escape(project)}_default$"
                names.update(dict.fromkeys(_list(docker, environment, kind, wanted)))
        if kind == "image":
            for tag in tags:
                names.update(dict.fromkeys(_list(docker, environment, kind, tag)))
        if names:
            seen.append(f"{len(names)} {kind}s")
            _docker(docker, environment, *_REMOVE[kind], *names)
    return ", ".join(seen)


def _list(docker: str, environment: dict[str, str], kind: str, what: str) -> list[str]:
    return _docker(docker, environment, *_LIST[kind], what).split()


def _docker(docker: str, environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - the operator's docker, names from its own lists
        [docker, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_COMMAND_TIMEOUT_S,
        check=False,
        text=True,
    )
    removing = "rm" in arguments
    if done.returncode != 0 and not removing:
        raise subprocess.CalledProcessError(done.returncode, arguments[0])
    return done.stdout
