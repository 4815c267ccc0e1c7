# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Scripted policies, which replace the coding model in tests and in the demo.

A policy is a pure function: it gets the conversation from its start and returns the next turn. So
requests may be repeated, run at once and be answered by any process. The harness, its box and
everything after it are real.
"""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vibench_gym.core.tasks.mutant import apply_mutant, load_mutants
from vibench_gym.core.tasks.task import artifacts_of, bundled_tasks_dir, load_task
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vibench_gym.core.tasks.task import Task

FILES_PER_TURN = 8
MATCH_CHARS = 400
PICTURE = "/tmp/dot.png"  # noqa: S108 (in the box)
_DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
"""One pixel."""
LOOK = "cat prd.txt feature-prd.txt; ls -la . assets 2>/dev/null"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    wait_s: float = 0.0
    """How long it thinks first."""
    status: int = 200
    """Another status: the endpoint fails."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said so far."""

    turns: int
    """Answers that the model has given."""
    results: tuple[str, ...] = ()
    """Results of its tool calls, in order."""
    prompt: str = ""
    pictures: int = 0
    """Pictures that it was shown."""

    @classmethod
    def of(cls, messages: Sequence[Mapping[str, Any]]) -> Conversation:
        """Read chat messages."""
        said = [message for message in messages if isinstance(message, dict)]
        return cls(
            turns=sum(message.get("role") == "assistant" for message in said),
            results=tuple(_text(m.get("content")) for m in said if m.get("role") == "tool"),
            prompt="\n".join(_text(m.get("content")) for m in said if m.get("role") == "user"),
            pictures=sum(_pictures(message.get("content")) for message in said),
        )


class Policy(Protocol):
    """Gives the next turn of a conversation, as a model would."""

    def turn(self, said: Conversation) -> Turn:
        """The next turn."""
        ...


@dataclass(frozen=True, slots=True)
class Scripted:
    """Gives its turns one after another without reading the results; then says that it is done."""

    turns: tuple[Turn, ...]

    def turn(self, said: Conversation) -> Turn:
        """The turn after those that were said."""
        return self.turns[said.turns] if said.turns < len(self.turns) else Turn("Done.")


@dataclass(frozen=True, slots=True)
class Build:
    """Reads the PRDs, finds which known task they are of, and writes that task's reference app.

    For a feature it writes only the files that change, over the starting tree. With `mutants` (the
    name of a mutant by task) it writes an app with a fault; other tasks get their first mutant.
    """

    broken: bool = False
    mutants: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    then: tuple[Turn, ...] = ()
    """Said after the files are written, before the end."""

    def turn(self, said: Conversation) -> Turn:
        """Look, then write a few files a turn, then end."""
        if said.turns == 0:
            return Turn("I read the specification.", (bash(LOOK),))
        if not said.results:
            return Turn("I see nothing.")
        task = recognise(said.results[0], self.root)
        if task is None:
            return Turn("I do not know this specification.")
        files = app_files(task, self._mutant(task), self.root)
        batches = _batches([file for file in files if file not in base_files(task, self.root)])
        number = said.turns - 1
        if number < len(batches):
            return Turn(f"I write part {number + 1}.", batches[number])
        number -= len(batches)
        return self.then[number] if number < len(self.then) else Turn("The application is done.")

    def _mutant(self, task: Task) -> str | None:
        if not self.broken:
            return None
        names = [mutant.name for mutant in load_mutants(task)]
        return self.mutants.get(task.root.name, names[0] if names else None)


@dataclass(frozen=True, slots=True)
class ByTask:
    """Reads the PRD first, then hands over to another policy, by the task that it recognised."""

    policies: Mapping[str, Policy]
    default: Policy
    root: Path | None = None

    def turn(self, said: Conversation) -> Turn:
        """The first turn is the same for all tasks; one policy gives the others."""
        task = recognise(said.results[0], self.root) if said.results else None
        named = None if task is None else self.policies.get(task.root.name)
        return (named or self.default).turn(said)


def bash(command: str) -> Call:
    """A call of the harness's shell."""
    return Call("bash", {"command": command, "description": "run a command"})


def write(path: str, content: str) -> Call:
    """A call that writes a file below the app's folder."""
    return Call("write", {"filePath": f"/app/{path}", "content": content})


def use_tools(helper: str) -> tuple[Turn, ...]:
    """Turns that use the tools of OpenCode which need something around them.

    Its searches, a picture and a sub-agent, played by the policy named `helper`.
    """
    asked = {"description": "look around", "subagent_type": "general"}
    return (
        Turn(
            "I search.",
            (
                Call("glob", {"pattern": "*.sh"}),
                Call("grep", {"pattern": "APPLICATION_PORT", "include": "*.sh"}),
            ),
        ),
        Turn("I draw.", (bash(f"echo {_DOT} | base64 -d > {PICTURE}"),)),
        Turn("I look at it.", (Call("read", {"filePath": PICTURE}),)),
        Turn("I ask.", (Call("task", {**asked, "prompt": f"Look around.\n\npolicy: {helper}\n"}),)),
    )


def recognise(seen: str, root: Path | None = None) -> Task | None:
    """The known task whose PRDs all are in what was seen; the one with the most of them."""
    best: tuple[int, Task] | None = None
    for task in _known(root or bundled_tasks_dir()):
        texts = _prds(task)
        if texts and all(_start(text) in seen for text in texts):
            best = max(best or (0, task), (len(texts), task), key=lambda pair: pair[0])
    return best[1] if best else None


@cache
def app_files(task: Task, mutant: str | None, root: Path | None) -> tuple[tuple[str, bytes], ...]:
    """The files of the reference app, or of a mutant of it.

    Raises:
        FileNotFoundError: the task has no reference app.
    """
    del root  # part of the key: two roots may hold tasks of one name
    if task.reference is None:
        raise FileNotFoundError(f"{task.root} has no reference app")
    with WorkFolder("policy") as folder:
        tree = task.reference
        if mutant is not None:
            found = next(item for item in load_mutants(task) if item.name == mutant)
            tree = folder / "app"
            apply_mutant(task, found, tree)
        paths = sorted(path for path in tree.rglob("*") if path.is_file())
        return tuple((path.relative_to(tree).as_posix(), path.read_bytes()) for path in paths)


@cache
def base_files(task: Task, root: Path | None) -> frozenset[tuple[str, bytes]]:
    """The files of the reference app that a feature is built on top of; none of an MVP's."""
    del root  # as above
    if task.base is None:
        return frozenset()
    paths = (path for path in task.base.rglob("*") if path.is_file())
    return frozenset((path.relative_to(task.base).as_posix(), path.read_bytes()) for path in paths)


def _batches(files: Sequence[tuple[str, bytes]]) -> list[tuple[Call, ...]]:
    calls = [_placed(path, content) for path, content in files]
    scripts = [path for path, _ in files if path.endswith(".sh")]
    batches = [
        tuple(calls[start : start + FILES_PER_TURN])
        for start in range(0, len(calls), FILES_PER_TURN)
    ]
    if scripts:
        batches.append((bash(f"chmod +x {shlex.join(scripts)}"),))
    return batches


def _placed(path: str, content: bytes) -> Call:
    try:
        return write(path, content.decode())
    except UnicodeDecodeError:
        data = base64.b64encode(content).decode()
        folder = shlex.quote(str(Path(path).parent))
        return bash(f"mkdir -p {folder} && echo {data} | base64 -d > {shlex.quote(path)}")


@cache
def _known(root: Path) -> tuple[Task, ...]:
    folders = sorted(path for path in root.iterdir() if (path / "tests").is_dir())
    return tuple(load_task(folder, name) for folder in folders for name in artifacts_of(folder))


def _prds(task: Task) -> list[str]:
    names = [*([task.base_artifact] if task.base_artifact else []), task.source_artifact]
    paths = [task.root / "prd" / f"{name}.txt" for name in names]
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]


def _start(text: str) -> str:
    return text.strip()[:MATCH_CHARS]


def _pictures(content: object) -> int:
    parts = content if isinstance(content, list) else []
    return sum(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return json.dumps(content) if content is not None else ""
