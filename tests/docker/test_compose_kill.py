# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A grader that is killed leaves no container, volume, process or file of a compose stack."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vibench_gym.stack.compose.host import ComposeHost

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

APPS = Path(__file__).parent.parent / "apps"
CHILD = """
import asyncio, sys
from pathlib import Path
from vibench_gym.stack.compose.builder import ComposeStackBuilder
from vibench_gym.stack.compose.project import Project
from support.docker.compose_lab import settings

up = Project._up
async def told(project):
    print(project.label, flush=True)
    await up(project)
Project._up = told

async def main():
    builder = ComposeStackBuilder(settings(Path(sys.argv[2]), egress="none"))
    app = await builder.prepare(Path(sys.argv[1]))
    async with app.stack():
        print("standing", flush=True)
        await asyncio.sleep(120)

asyncio.run(main())
"""


def left_of(labels: list[str], work: Path) -> list[str]:
    found = [str(path) for path in work.iterdir() if not path.name.startswith(".")]
    for label in labels:
        for listing in (["ps", "--all", "--quiet"], ["volume", "ls", "--quiet"]):
            argv = ["docker", *listing, "--filter", f"label={label}"]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            found += done.stdout.split()
    return found


def clients_of(labels: list[str]) -> list[int]:
    names = [label.partition("=")[2].encode() for label in labels]
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes()
                if words.startswith(b"/") and any(name in words for name in names):
                    found.append(int(folder.name))
    return found


@pytest.mark.parametrize("moment", ["while containers come up", "while the stack stands"])
async def test_sigkill_of_the_grader_leaves_nothing(
    compose_host: ComposeHost, compose_cache: Path, tmp_path: Path, moment: str
) -> None:
    del compose_host
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(APPS / "good/plain"), str(compose_cache),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(APPS.parent)},
    )  # fmt: skip
    assert child.stdout is not None
    labels = []
    async with asyncio.timeout(200):
        while (line := (await child.stdout.readline()).decode().strip()) != "standing":
            assert line, "the child ended early"
            labels.append(line)
            if moment == "while containers come up":
                await asyncio.sleep(1.5)
                break
    child.send_signal(signal.SIGKILL)
    await child.wait()
    for _ in range(300):
        await asyncio.sleep(0.2)
        if not left_of(labels, tmp_path) and not clients_of(labels):
            return
    pytest.fail(f"left: {left_of(labels, tmp_path)}, processes {clients_of(labels)}")
