# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What happens to scripts and folders when the grader is killed; `tests/docker` has an engine."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from support.docker.vibench_lab import until
from vibench_gym.sandbox.cleanup.work_folder import PREFIX

TESTS = Path(__file__).parents[2]
GRADER = """
import asyncio, sys
from pathlib import Path
from vibench_gym.grading.vibench.checkout import Checkout, DockerHost
from vibench_gym.grading.vibench.script_run import ScriptRun
from support.docker.vibench_stub import make_checkout

async def main():
    root = Path(sys.argv[1])
    checkout = Checkout.find(make_checkout(root / "checkout"))
    host = DockerHost("/bin/true", ("/bin/true",), False, {})
    place = ScriptRun(checkout, host, {"PATH": "/bin:/usr/bin"}, 30.0, 1000, print)
    async with place:
        program = root / "program.py"
        program.write_text("import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(1000)")
        await place.script(program, [str(root / "pid")], 1 if sys.argv[2] == "ends" else 1000)
    print("left")

asyncio.run(main())
"""  # noqa: E501 - a program


@pytest.mark.parametrize("how", ["killed", "ends"])
async def test_nothing_is_left_of_a_grader(tmp_path: Path, how: str) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    grader = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", GRADER, str(tmp_path), how),
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(TESTS)},
    )
    await until(lambda: bool((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text()))
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    if how == "killed":
        assert list(place.glob(f"{PREFIX}*"))
        grader.kill()
    await grader.wait()

    await until(lambda: not list(place.glob(f"{PREFIX}*")))
    await until(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
