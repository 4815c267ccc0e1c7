# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Work folders are made whole, and a program's own temporary folder goes with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vibench_gym.sandbox import locks
from vibench_gym.sandbox.cleanup import work_folder
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

TOKEN = "0123456789ab"
CRASH = """
import os, sys
from pathlib import Path
from vibench_gym.sandbox.cleanup import janitor
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
janitor._list._say = lambda *_: None  # a crash of the host takes the janitor as well
(WorkFolder("artifact", Path(sys.argv[1])).path / "app").mkdir()
os.kill(os.getpid(), 9)
"""


def test_a_program_of_our_own_keeps_temporary_files_to_itself(tmp_path: Path) -> None:
    code = (
        "import tempfile, subprocess, sys, os\n"
        "from vibench_gym.sandbox.cleanup import work_folder\n"
        "work_folder.own_temporary_folder(); work_folder.own_temporary_folder()\n"
        "print(tempfile.mkstemp()[1]); print(work_folder.host_temporary_folder(), flush=True)\n"
        "subprocess.run(['mktemp']); os.kill(os.getpid(), 9) if sys.argv[1:] else None\n"
    )
    for arguments in ((), ("killed",)):
        said = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        made, host, child = said.stdout.split()
        assert host == str(tmp_path)
        assert Path(made).parent == Path(child).parent
        assert Path(made).parent.parent == tmp_path
        _until_empty(tmp_path)


def _until_empty(folder: Path) -> None:
    for _ in range(600):
        if not any(folder.iterdir()):
            return
        time.sleep(0.05)
    pytest.fail(f"{list(folder.iterdir())} is left")


def test_a_folder_that_is_collected_while_it_is_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked = []

    def too_late(folder: Path) -> int | None:
        marked.append(folder)
        if len(marked) == 1:
            folder.rmdir()
        return locks.mark_alive(folder)

    monkeypatch.setattr(work_folder, "mark_alive", too_late)
    with WorkFolder("zone", tmp_path) as path:
        assert [path] == marked[1:]
        assert path.is_dir()
