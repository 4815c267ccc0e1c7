# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The README's way of running NeMo Gym, as written, on ports that are free.

Needs nemo-gym.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.gym_servers.command_line import (
    ShellCommand,
    Watch,
    commands,
    free_port,
    gym_servers,
    with_overrides,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECTION = "Train and evaluate through NeMo Gym"
POLICY_PORT = "8123"
ROWS = "resources_servers/vibench/data/example.jsonl"
POLICY, START, RUN = "python -m vibench_gym.testing.policy_server", "gym env start", "gym eval run"


@dataclass
class ReadmeRun:
    """The section's commands in a folder, with the programs of one virtualenv first on PATH.

    Processes carry the folder's name in their environment, so that what is left can be found.
    """

    readme: Path
    folder: Path
    programs: Path
    port: str = field(default_factory=lambda: str(free_port()))
    head_port: int = field(default_factory=free_port)
    model_type: str = "openai_model"
    """Which of the README's ways to start the servers."""

    def command(self, first: str) -> str:
        """The command that starts with some words, on our ports."""
        lines = commands(self.readme.read_text(encoding="utf-8"), SECTION)
        found = (line for line in lines if line.startswith(first))
        line = next(line for line in found if first != START or f" {self.model_type} " in line)
        line = line.replace(POLICY_PORT, self.port)
        return line if first == POLICY else with_overrides(line, [self._head])

    @property
    def env(self) -> dict[str, str]:
        """Ours with the README's exports; everything is written below the folder."""
        lines = commands(self.readme.read_text(encoding="utf-8"), SECTION)
        exports = (line.removeprefix("export ") for line in lines if line.startswith("export "))
        said = dict(line.split("=", 1) for line in exports)
        ours = ("VIBENCH_", "PYTHONPATH")
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
            **{name: value.strip('"') for name, value in said.items() if name != "PATH"},
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "VIBENCH_ARTIFACT_DIR": str(self.folder / "artifacts"),
            "VIBENCH_RESULTS_DIR": str(self.folder / "runs"),
            "E2E_MARK": str(self.folder),
        }

    @contextmanager
    def servers(self) -> Iterator[Watch]:
        """The policy and NeMo Gym's servers, ready; stopped on the way out.

        Raises:
            RuntimeError: they do not become ready.
        """
        with ExitStack() as running:
            running.enter_context(self._started(POLICY, "policy.log"))
            log = self.folder / "start.log"
            gym = running.enter_context(
                gym_servers(self.command(START), self.folder, self.env, log, self.head_port)
            )
            watch = running.enter_context(Watch([gym.process.pid]))
            yield watch

    def shell(self, command: str, timeout_s: float = 1000) -> str:
        """What a command prints.

        Raises:
            RuntimeError: it failed; with the end of what it printed.
            subprocess.TimeoutExpired: it did not end.
        """
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        if done.returncode:
            raise RuntimeError(f"{command}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done.stdout

    def collect(self, rows: str | None = None) -> dict[str, dict[str, Any]]:
        """Run the rows that the README names, or those of another file; by app."""
        command = self.command(RUN)
        self.shell(command if rows is None else command.replace(ROWS, rows))
        with (self.folder / "results/rollouts.jsonl").open(encoding="utf-8") as file:
            return {row["app"]: row for row in map(json.loads, file)}

    def _started(self, first: str, log: str) -> ShellCommand:
        return ShellCommand(self.command(first), self.folder, self.env, self.folder / log)

    @property
    def _head(self) -> str:
        return f"+head_server.port={self.head_port}"
