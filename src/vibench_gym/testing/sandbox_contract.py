# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every sandbox must do, as a pytest mixin.

Inherit from `SandboxContract` and give it a fixture `sandbox`: an open `Sandbox`. Its commands
need only bash and coreutils; files are kept below `folder`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.sandbox.base import Sandbox

_SECRET = "secret-of-the-host-51d3"  # noqa: S105 (a marker to look for)


def _require(condition: object, message: str) -> None:
    # Plain `assert` is only rewritten in test modules, and python -O would drop it here.
    if not condition:
        raise AssertionError(message)


class SandboxContract:
    """Behaviour that the grader and the build box rely on."""

    folder: ClassVar[str] = "/app"

    async def test_outputs_are_apart_and_the_code_is_told(self, sandbox: Sandbox) -> None:
        """A non-zero code is a result."""
        result = await sandbox.exec("echo out; echo err >&2; exit 3")
        got = (result.stdout, result.stderr, result.return_code, result.error_type)
        _require(got == ("out\n", "err\n", 3, None), f"got {result!r}")

    async def test_arguments_are_not_interpreted(self, sandbox: Sandbox) -> None:
        """A sequence is no shell line."""
        result = await sandbox.exec(["printf", "%s|", "a b", "$HOME", "*"])
        _require(result.stdout == "a b|$HOME|*|", f"got {result.stdout!r}")

    async def test_input_environment_and_folder(self, sandbox: Sandbox) -> None:
        """What is given arrives."""
        result = await sandbox.exec(
            'cat; echo "$GIVEN"; pwd',
            cwd="/usr",
            env={"GIVEN": "ä 1"},
            stdin=b"in\n",
        )
        _require(result.stdout == "in\nä 1\n/usr\n", f"got {result.stdout!r}")

    async def test_a_missing_folder_or_program_is_the_commands_failure(
        self, sandbox: Sandbox
    ) -> None:
        """Neither is an exception."""
        missing = await sandbox.exec("true", cwd="/not/there")
        _require(missing.return_code != 0, "a missing folder fails")
        missing = await sandbox.exec(["/not/there"])
        _require(missing.return_code != 0, "a missing program fails")

    async def test_timeout_has_code_125_and_kills_everything(self, sandbox: Sandbox) -> None:
        """What the command had put in the background is dead as well."""
        script = f"(sleep 3; touch {self.folder}/late) & echo begun; sleep 1000"
        result = await sandbox.exec(script, timeout_s=1.0)
        got = (result.stdout, result.return_code, result.error_type)
        _require(got == ("begun\n", 125, "timeout"), f"got {result!r}")
        after = await sandbox.exec(f"sleep 3; test ! -e {self.folder}/late")
        _require(after.return_code == 0, "a background process outlived the time-out")

    async def test_background_processes_end_with_the_command(self, sandbox: Sandbox) -> None:
        """A command that ended leaves nothing running."""
        await sandbox.exec(f"setsid sh -c 'sleep 2; touch {self.folder}/later' >/dev/null 2>&1 &")
        after = await sandbox.exec(f"sleep 3; test ! -e {self.folder}/later")
        _require(after.return_code == 0, "a background process outlived its command")

    async def test_output_that_is_not_text_is_replaced(self, sandbox: Sandbox) -> None:
        """Outputs are always strings."""
        result = await sandbox.exec("printf 'a\\377b'")
        _require(result.stdout == "a\ufffdb", f"got {result.stdout!r}")

    async def test_endless_output_is_bounded(self, sandbox: Sandbox) -> None:
        """A command that prints without end is cut, not kept."""
        result = await sandbox.exec("yes | head -c 50M; echo the end", timeout_s=120)
        _require(result.return_code == 0, f"got {result.return_code}")
        _require(len(result.stdout) < 20 * 1024 * 1024, f"kept {len(result.stdout)} characters")
        _require(result.stdout.endswith("the end\n"), "the end of the output is kept")

    async def test_files_persist_between_commands(self, sandbox: Sandbox) -> None:
        """One command's files are the next one's."""
        await sandbox.exec(f"echo kept > {self.folder}/kept")
        result = await sandbox.exec(f"cat {self.folder}/kept")
        _require(result.stdout == "kept\n", f"got {result!r}")

    async def test_files_go_in_and_out_unchanged(self, sandbox: Sandbox, tmp_path: Path) -> None:
        """Bytes and the executable bit are kept."""
        source, back = tmp_path / "source", tmp_path / "back"
        source.write_bytes(b"#!/bin/sh\necho ran\n" + bytes(range(256)) * 4096)
        source.chmod(0o755)
        await sandbox.upload_file(source, f"{self.folder}/deep/er/script")
        result = await sandbox.exec(f"{self.folder}/deep/er/script 2>/dev/null | head -1")
        _require(result.stdout == "ran\n", f"got {result!r}")
        await sandbox.download_file(f"{self.folder}/deep/er/script", back)
        _require(back.read_bytes() == source.read_bytes(), "a file came back changed")

    async def test_links_are_not_followed_out(self, sandbox: Sandbox, tmp_path: Path) -> None:
        """A link in the box says nothing about the host."""
        await sandbox.exec(f"ln -s /etc/passwd {self.folder}/link; mkfifo {self.folder}/fifo")
        for name in ("link", "fifo", "missing"):
            with pytest.raises(FileNotFoundError):
                await sandbox.download_file(f"{self.folder}/{name}", tmp_path / name)

    async def test_the_hosts_environment_is_not_there(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor in the environment of any process that the box sees."""
        monkeypatch.setenv("SECRET", _SECRET)
        _require(os.environ["SECRET"] == _SECRET, "the secret is set")
        result = await sandbox.exec("env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")
        _require(_SECRET not in result.stdout, "the host's environment is visible")

    async def test_close_twice(self, sandbox: Sandbox) -> None:
        """The second time does nothing."""
        await sandbox.close()
        await sandbox.close()
