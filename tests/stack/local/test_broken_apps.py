# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Every way of not standing up is the app's, and the message says which it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import AppSetupFailed, AppStartFailed, DatabaseUnavailable
from vibench_gym.stack.local.builder import LocalStackBuilder
from vibench_gym.stack.local.database import Database
from vibench_gym.stack.postgres import PostgresNotStarted

if TYPE_CHECKING:
    from pathlib import Path

    from stack.conftest import Prepare
    from vibench_gym.core.config import StackConfig
    from vibench_gym.stack.local.host import Host

pytestmark = [pytest.mark.sandbox, pytest.mark.postgres]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broken/exits", [r"exit code 3 before", r"Last output: cannot find module left-pad"]),
        ("broken/daemonises", [r"exit code 0 before", r"has to stay in the foreground"]),
        ("broken/wrong_port", [r"within 6 s", r"refused", r"listens on port 3000 instead"]),
        ("broken/never_answers", [r"accepted a connection, no answer in 1 s"]),
        ("broken/answers_500", [r"the app answered 500", r"GET / HTTP/1.1"]),
        ("broken/redirect_loop", [r"redirected more than 10 times"]),
        ("broken/redirects_away", [r"another origin \('login.example'\)"]),
        ("broken/not_http", [r"something that is not HTTP"]),
        ("broken/crlf", [r"start-server.sh has CRLF line endings"]),
        ("broken/drops_database", [r"exit code 4", r'database "appdb" does not exist']),
    ],
)
async def test_start_fails_and_says_how(prepare: Prepare, name: str, says: list[str]) -> None:
    app = await prepare(name, start_timeout_s=6)
    with pytest.raises(AppStartFailed) as caught:
        async with app.stack():
            pass
    for pattern in says:
        caught.match(pattern)


async def test_start_that_hangs_silently_listens_nowhere(prepare: Prepare) -> None:
    app = await prepare("good/late", start_timeout_s=0.7)
    with pytest.raises(AppStartFailed, match=r"refused the connection; it listens nowhere"):
        async with app.stack():
            pass


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broken/setup_fails", r"exit code 7\. Last output: no such package"),
        ("broken/setup_hangs", r"did not end within 3 s\. Last output: waiting"),
        ("broken/setup_asks_elsewhere", r"hosts it was refused: evil\.example"),
    ],
)
async def test_set_up_fails_and_says_how(prepare: Prepare, name: str, says: str) -> None:
    with pytest.raises(AppSetupFailed, match=says):
        await prepare(name, setup_timeout_s=3)


async def test_database_that_set_up_broke_is_the_apps_fault(prepare: Prepare) -> None:
    app = await prepare("broken/poisons_database")
    with pytest.raises(AppSetupFailed, match=r"what set-up left of it: .*WAL streaming"):
        async with app.stack():
            pass


@pytest.mark.parametrize("missing", ["setup-environment.sh", "start-server.sh"])
async def test_missing_scripts_are_named(
    host: Host, small_limits: StackConfig, tmp_path: Path, missing: str
) -> None:
    for name in {"setup-environment.sh", "start-server.sh"} - {missing}:
        (tmp_path / name).write_text("true\n")
    builder = LocalStackBuilder(small_limits, with_browser=False, host=host)
    with pytest.raises(AppSetupFailed, match=f"the app has no {missing}"):
        await builder.prepare(tmp_path)


async def test_app_that_does_not_fit_is_the_apps_fault(
    host: Host, small_limits: StackConfig, tmp_path: Path
) -> None:
    for name in ("setup-environment.sh", "start-server.sh"):
        (tmp_path / name).write_text("true\n")
    (tmp_path / "large").write_bytes(bytes(200 * 1024 * 1024))
    config = small_limits.model_copy(update={"state_bytes": 150 * 1024 * 1024})
    builder = LocalStackBuilder(config, with_browser=False, host=host)
    with pytest.raises(AppSetupFailed, match="does not fit its space"):
        await builder.prepare(tmp_path)


async def test_template_that_does_not_start_is_our_fault(
    prepare: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = await prepare("good/plain")

    async def fails(self: Database) -> None:
        del self
        raise PostgresNotStarted("no shared memory")

    async with app.stack() as stack:
        monkeypatch.setattr(Database, "start", fails)
        assert not await stack.healthy()
    with pytest.raises(DatabaseUnavailable, match="no shared memory"):
        async with app.stack():
            pass


async def test_failed_restart_says_so_and_status_follows(prepare: Prepare) -> None:
    app = await prepare("good/plain", start_timeout_s=5)
    async with app.stack() as stack:
        await stack.exec("echo 'echo broken now; exit 9' > start-server.sh", timeout_s=5)
        with pytest.raises(AppStartFailed, match=r"exit code 9.*broken now"):
            await stack.restart_app()
        status = await stack.app_status()
        assert (status.running, status.exit_code) == (False, 9)


async def test_app_that_dies_later_is_seen(prepare: Prepare) -> None:
    app = await prepare("good/plain")
    async with app.stack() as stack:
        await stack.exec("pkill -f server.py || kill -9 -1", timeout_s=5)
        # A box has its own processes only: the app cannot be reached from another box.
        assert (await stack.app_status()).running
