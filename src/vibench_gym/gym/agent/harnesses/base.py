# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of a harness, which builds the app of a row.

There are two kinds. A `BoxHarness` is a coding agent: a program that runs headless in a build box,
calls the policy model, and leaves a transcript on its standard output. A `TreeHarness` builds
nothing: it hands over a tree that is already on this host, without a box and without a model.

A harness is a module (or a folder) of its own beside this one, and one line in `registry.py`. It
knows its program's command line, settings and output, and nothing of boxes, servers or rollouts.
`vibench_gym.testing.contracts.harness` says, as tests, what a `BoxHarness` has to do.

The output was written by a program that shared its box with the builder. It is data, is read
tolerantly and within bounds, and decides no score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel

from vibench_gym.gym.box.call_usage import NO_TOKENS, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from nemo_gym.openai_utils import NeMoGymResponseOutputItem

    from vibench_gym.core.artifact import ArtifactStore
    from vibench_gym.gym.box.build_box import BoxCommand
    from vibench_gym.gym.wire import VibenchTask


@dataclass(frozen=True, slots=True)
class HarnessTask:
    """What a harness has to know about one build."""

    prompt: str
    base_url: str
    """OpenAI-compatible, with `/v1`, as the box sees it; it needs no key."""
    scratch: str
    """A folder of the box for the harness's own files, outside of the app."""
    temperature: float | None = None
    top_p: float | None = None
    pictures: bool = True
    """Whether the model takes pictures; one that does not refuses the whole call."""


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
    """What the harness reported of its work."""

    items: tuple[NeMoGymResponseOutputItem, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = NO_TOKENS
    """Tokens of all model calls that it reported."""
    model_calls: int = 0
    """Model answers that it reported; there were at least this many."""
    sessions: tuple[str, ...] = ()
    """Its own ids of conversations, root first: the `x-session-id` of its model calls."""
    finished: bool = False
    """It came to an end by itself, with a last message."""
    length_limited: bool = False
    """Its last model answer was cut at the model's limit."""
    errors: tuple[str, ...] = ()
    unreadable_lines: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """A harness's program on this host, and where boxes see it."""

    folder: Path
    """Bound read-only by our provider; into other providers' boxes the executable is copied."""
    box_folder: str
    executable: str
    """Path below the folder."""
    version: str

    @property
    def box_path(self) -> str:
        """The executable as a box with the folder bound sees it."""
        return f"{self.box_folder}/{self.executable}"


class NoSettings(BaseModel):
    """The settings of a harness that has none."""


class Harness(ABC):
    """Builds the app of a row. Subclass `BoxHarness` or `TreeHarness`, not this."""

    name: ClassVar[str]
    """Value of the agent's setting `harness`; `agent_kind` of its rows; its name in logs."""
    needs_box: ClassVar[bool]
    """Whether it works in a build box, against the policy model.

    True: the sandbox provider is checked when the server starts, a session is seeded for every row,
    and prompts are answered at `/v1/responses`. False: none of these.
    """
    settings_model: ClassVar[type[BaseModel]] = NoSettings
    """Its settings: validated from the agent's settings of the same names and `harness_options`."""

    @classmethod
    @abstractmethod
    def from_settings(cls, settings: Any) -> Self:
        """Make it from an instance of `settings_model`; may block while a program is installed.

        Raises:
            PrerequisiteMissing: its program is not there and cannot be installed.
        """

    @abstractmethod
    def check(self) -> None:
        """See once, before any rollout, that program and settings are good; may block for seconds.

        Raises:
            ConfigError: the settings are not what the program takes.
            PrerequisiteMissing: the program is not there or does not run.
        """


class BoxHarness(Harness):
    """A coding agent that runs headless in a build box."""

    needs_box: ClassVar[bool] = True

    @property
    @abstractmethod
    def program(self) -> Program | None:
        """What has to be brought into boxes; None where their image has it already."""

    @property
    def image_executable(self) -> str:
        """Where the program is in boxes whose image has it; only asked for without `program`."""
        return self.name

    @abstractmethod
    def command(self, task: HarnessTask, executable: str) -> BoxCommand:
        """The command for one build; `executable` is its program as this box has it."""

    @abstractmethod
    def read(self, output: bytes) -> Transcript:
        """The transcript in its standard output, which may be hostile and may be cut anywhere."""


class TreeHarness(Harness):
    """Builds nothing: hands over a tree that is on this host."""

    needs_box: ClassVar[bool] = False

    @abstractmethod
    def store_tree(self, row: VibenchTask, store: ArtifactStore) -> str:
        """Put the row's tree into the store and return its digest. Blocks.

        Raises:
            ConfigError: there is no tree for the row, which is skipped.
            OSError: our own disk failed.
            TaskInvalid: the row's task is not as it should be; the row is skipped.
        """
