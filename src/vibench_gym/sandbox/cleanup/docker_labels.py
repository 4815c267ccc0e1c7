# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Removes what carries a label from a Docker engine: containers, then volumes, then networks.

The compose stack labels all that it makes. Standard library only: the janitor runs this after the
grader was killed. A Docker client that is being killed too may still make a container or two, so
the janitor goes on until sweeps have found nothing for a while.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KIND = "docker"
_CALL_TIMEOUT_S = 60.0
_GIVE_UP_S = 90.0
_PAUSE_S = 0.5
_KINDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("ps", "--all", "--quiet"), ("rm", "--force", "--volumes")),
    (("volume", "ls", "--quiet"), ("volume", "rm", "--force")),
    (("network", "ls", "--quiet"), ("network", "rm")),
)


def entry(docker: Sequence[str], env: Mapping[str, str], label: str) -> str:
    """The name of an entry on the janitor's list: all that a removal needs, as one line."""
    return json.dumps([list(docker), dict(env), label])


def sweep(docker: Sequence[str], env: Mapping[str, str], label: str) -> bool:
    """Remove what carries `NAME=VALUE`; True if there was nothing (left) to remove. Blocks."""
    clean = True
    for listing, removal in _KINDS:
        output = _call([*docker, *listing, "--filter", f"label={label}"], env)
        if output is None:
            return False
        if names := output.split():
            clean = False
            _call([*docker, *removal, *names], env)
    return clean


def remove(docker: Sequence[str], env: Mapping[str, str], label: str) -> bool:
    """Sweep until nothing is left; False if something is. Blocks."""
    return any(sweep(docker, env, label) for _ in range(4))


def remove_until_quiet(entry_name: str, quiet_s: float = 5.0) -> bool:
    """Sweep until nothing was found for `quiet_s`: a dying client may still make more."""
    docker, env, label = json.loads(entry_name)
    deadline = time.monotonic() + _GIVE_UP_S
    quiet_since = time.monotonic()
    while time.monotonic() < deadline:
        if not sweep(docker, env, label):
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since >= quiet_s:
            return True
        time.sleep(_PAUSE_S)
    return False


def _call(argv: Sequence[str], env: Mapping[str, str]) -> str | None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603  the docker command, our own arguments
            argv,
            env=dict(env),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_CALL_TIMEOUT_S,
        )
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
    return None
