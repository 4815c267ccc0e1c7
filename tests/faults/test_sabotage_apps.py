# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What an app breaks on purpose, so that it looks like our doing: it is scored, never masked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from support.attacks.hostile_variants import NO_BROWSER, VariantGrader
from support.counter_app import SERVER, attacked, make_counter_task, write_app
from support.faults.endings import Ending
from vibench_gym.core.config import StackConfig
from vibench_gym.core.status import PlanStatus
from vibench_gym.stack.local.builder import LocalStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from support.faults.endings import Point, Tell
    from vibench_gym.stack.local.host import Host

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.timeout(300)]
SETUP, START = "setup-environment.sh", "start-server.sh"
SQL = 'psql -q "$POSTGRES_DATABASE_URL" -c'
SERVE = "exec python server.py"
GRADED, CRASHED = PlanStatus.GRADED, PlanStatus.APP_CRASHED
NO_SETUP, NO_START = PlanStatus.SETUP_FAILED, PlanStatus.START_FAILED
NO_SEED = PlanStatus.SEEDING_FAILED


def pressed(code: str) -> str:
    """A server that does something when its button is pressed; it has earned two points by then."""
    body = (
        "import signal\n"
        "def attack(self):\n"
        "    if self.path == '/press':\n"
        f"        {code}\n"
        "Handler.attack = attack\n"
    )
    return attacked(body)


def asked(statement: str) -> str:
    """Code that has the app's own database do something."""
    return (
        "subprocess.run(['psql', os.environ['POSTGRES_DATABASE_URL'], '-c', "
        f"{statement!r}], capture_output=True)"
    )


APPS: dict[str, tuple[Point, dict[str, str], PlanStatus, float]] = {
    "set-up fails": ("set-up", {SETUP: "exit 3\n"}, NO_SETUP, 0.0),
    "set-up hangs": ("set-up", {SETUP: "sleep 600\n"}, NO_SETUP, 0.0),
    "set-up fills its space": ("set-up", {SETUP: "cat /dev/zero > big\n"}, NO_SETUP, 0.0),
    "set-up eats its memory": (
        "set-up",
        {SETUP: "python -c 'x = bytearray(2**30); x[:] = b\"1\" * 2**30'\n"},
        NO_SETUP,
        0.0,
    ),
    "set-up leaves a tree too deep to copy": (
        "set-up",
        {
            SETUP: "python - <<'E'\nimport os\n"
            "for _ in range(3000): os.mkdir('d'); os.chdir('d')\nE\n"
        },
        NO_SETUP,
        0.0,
    ),
    "set-up leaves a database that does not start": (
        "database",
        {SETUP: f"{SQL} \"alter system set wal_level = 'minimal'\"\n"},
        NO_SETUP,
        0.0,
    ),
    "set-up wants more memory than there is for its database": (
        "database",
        {SETUP: f"{SQL} 'alter system set shared_buffers = \"900GB\"'\n"},
        GRADED,
        1.0,
    ),
    "set-up kills its database": (
        "database",
        {SETUP: f"{SQL} \"copy (select 1) to program 'kill -9 -1'\"; exit 0\n"},
        GRADED,
        1.0,
    ),
    "does not serve": ("app", {START: "sleep 600\n"}, NO_START, 0.0),
    "kills all it can and ends": ("app", {START: "kill -9 -1; kill -9 1; exit 1\n"}, NO_START, 0.0),
    "ends when it is pressed": ("app", {"server.py": pressed("os._exit(0)")}, CRASHED, 0.2),
    "kills itself like a host without memory": (
        "app",
        {"server.py": pressed("os.kill(os.getpid(), signal.SIGKILL)")},
        CRASHED,
        0.2,
    ),
    "stops when it is pressed": (
        "app",
        {"server.py": pressed("os.kill(os.getpid(), signal.SIGSTOP); signal.pause()")},
        GRADED,
        0.2,
    ),
    "kills its database when it is pressed": (
        "database",
        {"server.py": pressed(asked("copy (select 1) to program 'kill -9 -1'"))},
        GRADED,
        1.0,
    ),
    "drops its database when it is pressed": (
        "database",
        {"server.py": pressed(asked("alter role appuser nologin"))},
        GRADED,
        0.5,
    ),
    "fills its disk when it is pressed": (
        "app",
        {"server.py": pressed("subprocess.run('cat /dev/zero > /app/big', shell=True)")},
        GRADED,
        0.5,
    ),
    "prints without end": (
        "app",
        {START: f"(while true; do echo {'x' * 500}; done) &\n{SERVE}\n"},
        GRADED,
        1.0,
    ),
    "forks without end": (
        "app",
        {START: "b() { b | b & }; b; while :; do :; done\n"},
        NO_START,
        0.0,
    ),
}
SEEDED: dict[str, tuple[dict[str, str], PlanStatus, float]] = {
    "empties the seed's folder all the time": (
        {START: f"(while sleep 0.1; do rm -rf /seeding/*; done) &\n{SERVE}\n"},
        GRADED,
        1.0,
    ),
    "has no disk left for a seed": (
        {START: f"cat /dev/zero > /app/big\n{SERVE}\n"},
        NO_SEED,
        0.0,
    ),
    "does not come up a second time": (
        {START: f"[ -e once ] && exit 1; touch once\n{SERVE}\n"},
        NO_SEED,
        0.0,
    ),
}


@pytest.fixture(scope="session")
def host() -> Host:
    return asyncio.run(LocalStackBuilder(StackConfig(), browser=NO_BROWSER).find_host())


async def graded(bench: VariantGrader, changes: dict[str, str]) -> Ending:
    """Grade an app, and say what it came to."""
    record = await bench.grade(changes)
    plan = bench.plan()
    return Ending(
        "masked" if record.mask_sample else "scored",
        str(plan.status),
        record.failure_kind or "",
        record.reward,
        plan.attempts,
        record.failure_reason or plan.error or "",
    )


@pytest.mark.parametrize("name", APPS)
async def test_an_app_masks_nothing(tmp_path: Path, host: Host, tell: Tell, name: str) -> None:
    point, changes, status, reward = APPS[name]
    end = await graded(VariantGrader(tmp_path, host), changes)
    tell(name, point, "sabotage", end)
    assert (end.verdict, end.status, end.reward) == ("scored", status, reward), end


@pytest.mark.parametrize("name", SEEDED)
async def test_an_app_that_is_seeded_masks_nothing(
    tmp_path: Path, host: Host, tell: Tell, name: str
) -> None:
    changes, status, reward = SEEDED[name]
    items = '      - write_file: {path: /seeding/seed.sh, content: "echo 10 > /app/count.txt"}\n'
    bench = VariantGrader(
        tmp_path, host, task=make_counter_task(tmp_path / "task", seed_items=items)
    )
    end = await graded(bench, changes)
    tell(name, "seeding", "sabotage", end)
    assert (end.verdict, end.status, end.reward) == ("scored", status, reward), end


@pytest.mark.parametrize("release", ["releases/1", "current"], ids=["chain", "circle"])
async def test_a_start_through_links(tmp_path: Path, host: Host, tell: Tell, release: str) -> None:
    """A chain works as where it was built; a circle is the app's, and the failure says so."""
    server = {"releases/1/server.py": SERVER, START: "exec python current/server.py\n"}
    app = write_app(tmp_path / "app", server)
    (app / "current").symlink_to("/app/release")
    (app / "release").symlink_to(release)
    bench = VariantGrader(tmp_path, host)
    record, plan = await bench.grade_folder(app), bench.plan()
    end = Ending("scored", str(plan.status), reward=record.reward, attempts=plan.attempts)
    honest = release == "releases/1"
    tell(f"starts through a {'chain' if honest else 'circle'} of links", "app", "sabotage", end)
    assert not record.mask_sample
    assert (plan.status, record.reward) == ((GRADED, 1.0) if honest else (NO_START, 0.0)), plan
    if not honest:
        assert "Links left out at unpacking: current (link leads in a circle" in (plan.error or "")
