# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing outlives the grader: SIGKILL at random moments of a whole grading run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.sandbox import control_groups

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]

KILLS = 20
WORKERS = 4
PATIENCE_S = 10.0
LONGEST_S = 14.0


def _groups() -> set[str]:
    return {
        str(path)
        for base in set(control_groups.find_base().values())
        for path in Path(base).glob("*")
        if path.is_dir()
    }


def _mounts() -> set[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line.split()[4] for line in lines if "vibench" in line}


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.repeat) for n in range(1, WORKERS))]
)
def test_sigkill_leaves_nothing(part: int, tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    moments = random.Random(seed)  # noqa: S311 (moments, no secrets)
    task = bundled_tasks_dir() / "pantry"
    kills = [moments.uniform(0.3, LONGEST_S) for _ in range(KILLS // WORKERS)]
    for number, after in enumerate(kills):
        temporary = tmp_path / f"tmp{number}"
        temporary.mkdir(mode=0o755)
        done = subprocess.run(
            [
                sys.executable, Path(__file__).with_name("kill_and_look.py"),
                str(after), str(PATIENCE_S),
                sys.executable, "-m", "vibench_gym.cli", "grade",
                task / "reference" / "mvp", "--task", task, "--replay",
                "--label", f"kill-{part}-{number}", "--out", tmp_path / f"run{number}",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={**os.environ, "TMPDIR": str(temporary)},
        )  # fmt: skip
        result = json.loads(done.stdout)
        where = f"seed {seed}, kill {number} after {after:.2f} s"
        assert result["left"] == [], where
        assert sorted(temporary.rglob("*")) == [], where
        assert _mounts() == set(), where
