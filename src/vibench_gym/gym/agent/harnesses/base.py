# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a coding harness is to us: a program to run in a build box, and a transcript to read after.

A harness is a file of its own that implements `Harness`: it knows its program's command line,
settings and output, and nothing of boxes, servers or rollouts. What it reads back was written by a
program that shared its box with the builder: it is data, read tolerantly, and decides no score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nemo_gym.openai_utils import NeMoGymResponseOutputItem


@dataclass(frozen=True, slots=True)
class HarnessTask:
    """One build, as a harness has to know it."""

    prompt: str
    base_url: str
    """OpenAI-compatible, with `/v1`, as the box sees it."""
    scratch: str
    """A folder of the box for the harness's own files, outside of the app."""
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class HarnessRun:
    """A command to run in the box, in the app's folder."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Placed before it starts: path in the box, content."""
    stdin: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of all model calls that the harness told of."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ToolUse:
    """When a tool call ran, by the harness's clock."""

    session: str
    call_id: str
    name: str
    started_at: float | None
    """Seconds since the epoch."""
    completed_at: float | None
    completed: bool


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the harness told of its work."""

    items: tuple[NeMoGymResponseOutputItem, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = Usage()
    model_calls: int = 0
    """Model answers that it told of; at least so many there were."""
    sessions: tuple[str, ...] = ()
    """Its own ids of conversations, root first; they are in its model calls' session header."""
    finished: bool = False
    """It came to an end by itself, with a last word."""
    length_limited: bool = False
    errors: tuple[str, ...] = ()
    unreadable_lines: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """The harness's program on this host, and where boxes see it."""

    folder: Path
    """Bound read-only, or copied where a provider cannot bind."""
    box_folder: str
    executable: str
    """Path below the folder."""
    version: str

    @property
    def box_path(self) -> str:
        """The executable as a box with the folder bound sees it."""
        return f"{self.box_folder}/{self.executable}"


class Harness(Protocol):
    """A coding agent that runs headless in a box."""

    @property
    def name(self) -> str:
        """Its name in observations and logs."""
        ...

    @property
    def program(self) -> Program | None:
        """What has to be in the box; None where the box's image has it already."""
        ...

    def check(self) -> None:
        """See once, before any rollout, that program and settings are good; may block for seconds.

        Raises:
            ConfigError: the settings are not what the program takes.
            PrerequisiteMissing: the program is not there or does not run.
        """
        ...

    def run(self, task: HarnessTask, executable: str) -> HarnessRun:
        """The command for one build; `executable` is its program as this box has it."""
        ...

    def read(self, output: bytes) -> Transcript:
        """Make sense of its standard output, which may be cut anywhere."""
        ...
