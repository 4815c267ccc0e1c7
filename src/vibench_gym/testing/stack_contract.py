# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What every stack must do, as a pytest mixin.

Inherit from `StackContract` and give it a fixture `prepared`: a `PreparedApp` of any app that
serves a document at `/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibench_gym.stack.base import Seed

if TYPE_CHECKING:
    from vibench_gym.stack.base import PreparedApp

SEED = Seed(files={"seed.sh": b"exit 0\n", "data/a.txt": "ä\n".encode()}, env={"CONTRACT": "1"})


def _require(condition: object, message: str) -> None:
    # Plain `assert` is only rewritten in test modules, and python -O would drop it here.
    if not condition:
        raise AssertionError(message)


class StackContract:
    """Behaviour that the grader relies on."""

    async def test_set_up_is_reported(self, prepared: PreparedApp) -> None:
        """A prepared app's set-up succeeded and names its toolchain."""
        _require(prepared.setup.return_code == 0, "set-up of a prepared app has return code 0")
        _require(prepared.setup.python_version, "the Python version is recorded")
        _require(prepared.setup.node_version, "the Node version is recorded")

    async def test_url_is_a_loopback_origin(self, prepared: PreparedApp) -> None:
        """Plans say `http://localhost:PORT`, a secure context."""
        async with prepared.stack() as stack:
            _require(stack.url.startswith("http://localhost:"), f"odd url {stack.url!r}")

    async def test_phases_are_timed(self, prepared: PreparedApp) -> None:
        """Where the time went is known by phase."""
        async with prepared.stack() as stack:
            missing = {"namespaces", "files", "database", "app_start"} - set(stack.timings)
            _require(not missing, f"phases without a time: {missing}")

    async def test_app_runs_while_the_stack_stands(self, prepared: PreparedApp) -> None:
        """Entering returns only when the app is up."""
        async with prepared.stack() as stack:
            status = await stack.app_status()
            _require(status.running, "the app is running")
            _require(status.exit_code is None, "a running app has no exit code")
            _require(status.listening_ports, "the app listens")

    async def test_exec_returns_output_and_code(self, prepared: PreparedApp) -> None:
        """A command's failure is a result, never an exception."""
        async with prepared.stack() as stack:
            said = await stack.exec("echo hello", timeout_s=30)
            _require((said.stdout, said.return_code) == ("hello\n", 0), f"echo gave {said!r}")
            failed = await stack.exec("exit 3", timeout_s=30)
            _require(failed.return_code == 3, f"exit 3 gave {failed!r}")  # noqa: PLR2004 - as asked

    async def test_exec_is_bounded_in_time(self, prepared: PreparedApp) -> None:
        """A command that hangs comes back as a time-out."""
        async with prepared.stack() as stack:
            result = await stack.exec("sleep 600", timeout_s=1)
            _require(result.error_type == "timeout", f"sleep gave {result!r}")
            _require(result.return_code == 125, "time-outs have return code 125")  # noqa: PLR2004

    async def test_seed_comes_back_as_placed(self, prepared: PreparedApp) -> None:
        """What is applied can be read again, byte for byte; the app survives it."""
        async with prepared.stack() as stack:
            result = await stack.apply_seed(SEED)
            _require(result.return_code == 0, f"seed.sh gave {result!r}")
            found = await stack.read_seed_folder()
            _require(dict(found.files) == dict(SEED.files), f"files came back as {found.files!r}")
            _require((await stack.app_status()).running, "the app runs after seeding")

    async def test_stack_can_enter_seeded(self, prepared: PreparedApp) -> None:
        """`stack(seed=...)` is a fresh stack in the plan's starting state."""
        async with prepared.stack(seed=SEED) as stack:
            found = await stack.read_seed_folder()
            _require(dict(found.files) == dict(SEED.files), f"files came back as {found.files!r}")

    async def test_app_restarts(self, prepared: PreparedApp) -> None:
        """A restart leaves a running app."""
        async with prepared.stack() as stack:
            await stack.restart_app({"CONTRACT": "2"})
            _require((await stack.app_status()).running, "the app runs after a restart")

    async def test_usage_and_health_are_known(self, prepared: PreparedApp) -> None:
        """A standing stack uses something, and our own parts work."""
        async with prepared.stack() as stack:
            usage = await stack.usage()
            _require(usage.memory_bytes > 0, "memory is counted")
            _require(usage.processes > 0, "processes are counted")
            _require(await stack.healthy(), "the control experiment succeeds")

    async def test_two_stacks_stand_at_once(self, prepared: PreparedApp) -> None:
        """Stacks of one app do not share ports or state."""
        async with prepared.stack() as one, prepared.stack() as two:
            _require(one.url == two.url, "both are at the port the plan names")
            await one.apply_seed(SEED)
            _require(not (await two.read_seed_folder()).files, "a seed stays in its own stack")

    async def test_closing_twice_is_safe(self, prepared: PreparedApp) -> None:
        """`close` can be called again."""
        await prepared.close()
        await prepared.close()
