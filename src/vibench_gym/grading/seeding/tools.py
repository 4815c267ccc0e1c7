# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The seeder's own tools: a bounded shell in the app's zone, files below /seeding, and the end."""

from __future__ import annotations

import base64
import posixpath
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from vibench_gym.core.tool import ToolResult, ToolSpec
from vibench_gym.grading.untrusted_text import as_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vibench_gym.core.config import GraderConfig
    from vibench_gym.sandbox.base import ExecResult
    from vibench_gym.stack.base import Stack

SEED_ROOT: Final = "/seeding"
MAX_FILE_CHARS: Final = 1_000_000
_CHUNK: Final = 60_000
"""Of base64 per command: an argument of a program may hold 128 KiB."""
END_OF_DATA: Final = "[end of shell data]"
_MAX_TIMEOUT_FACTOR: Final = 3.0


class SeedCall(BaseModel):
    """Base of the seeder's tools' parameters: unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Shell(SeedCall):
    """Run a command with bash as the app's user, in /app. It ends with everything it started."""

    command: Annotated[str, StringConstraints(min_length=1, max_length=60_000)]
    timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class WriteFile(SeedCall):
    """Write a text file below /seeding, replacing it where it exists."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    content: Annotated[str, StringConstraints(max_length=MAX_FILE_CHARS)]


class FinishSeeding(SeedCall):
    """The starting state is delivered: /seeding is taken, and tried on a fresh app."""

    summary: Annotated[str, StringConstraints(max_length=8000)] = Field(
        description="for the tester: what is there now, with names, accounts and passwords"
    )


class GiveUp(SeedCall):
    """The starting state cannot be reached."""

    reason: Annotated[str, StringConstraints(max_length=8000)]


_TOOLS: Final[dict[str, type[SeedCall]]] = {
    "shell": Shell,
    "write_file": WriteFile,
    "finish_seeding": FinishSeeding,
    "give_up": GiveUp,
}
SEEDING_TOOLS: Final[tuple[ToolSpec, ...]] = tuple(
    ToolSpec(name=name, description=model.__doc__ or "", parameters=model.model_json_schema())
    for name, model in _TOOLS.items()
)


def parse_seed_call(name: str, arguments: Mapping[str, Any]) -> SeedCall | str | None:
    """The call; a text that says what is wrong with it; None where it is another's tool."""
    model = _TOOLS.get(name)
    if model is None:
        return None
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "arguments"
        return f"{name}: {where}: {first['msg']}"


async def run_shell(stack: Stack, call: Shell, config: GraderConfig) -> tuple[ToolResult, str]:
    """Run a command; the result for the model, and the output for whoever watches it.

    Raises:
        SandboxUnavailable: the stack is gone.
    """
    limit = min(
        call.timeout_s or config.shell_timeout_s, _MAX_TIMEOUT_FACTOR * config.shell_timeout_s
    )
    result = await stack.exec(call.command, timeout_s=limit)
    output = output_of(result, config.shell_output_chars)
    text = f"Result: {_ended(result, limit)}\n{output}\n{END_OF_DATA}"
    return ToolResult(text, is_error=result.return_code != 0), output


async def write_seed_file(stack: Stack, call: WriteFile) -> ToolResult:
    """Place a file below /seeding, as the app's user.

    Raises:
        SandboxUnavailable: the stack is gone.
    """
    path = posixpath.normpath(posixpath.join(SEED_ROOT, call.path))
    if not path.startswith(f"{SEED_ROOT}/") or "\0" in path:
        return ToolResult(f"write_file writes below {SEED_ROOT} only", is_error=True)
    data = base64.b64encode(call.content.encode("utf-8", "surrogateescape")).decode()
    # By their full names: the app may have put programs of its own first on PATH.
    target = shlex.quote(path)
    folder = shlex.quote(posixpath.dirname(path))
    chunks = [data[i : i + _CHUNK] for i in range(0, len(data), _CHUNK)] or [""]
    for number, chunk in enumerate(chunks):
        prepare = f"/usr/bin/mkdir -p {folder} && " if number == 0 else ""
        into = ">" if number == 0 else ">>"
        result = await stack.exec(
            f"{prepare}builtin printf %s {chunk} | /usr/bin/base64 -d {into} {target}",
            timeout_s=30.0,
        )
        if result.return_code != 0:
            said = f"could not write {path}: {output_of(result, 500)}\n{END_OF_DATA}"
            return ToolResult(said, is_error=True)
    return ToolResult(f"Result: wrote {path} ({len(call.content)} characters)")


def output_of(result: ExecResult, limit: int) -> str:
    """What a command printed, both streams, bounded."""
    parts = [part.rstrip("\n") for part in (result.stdout, result.stderr) if part.strip()]
    return as_data("\n".join(parts), limit)


def _ended(result: ExecResult, limit: float) -> str:
    if result.error_type == "timeout":
        return f"timed out after {limit:g} s; everything it started was ended"
    if result.error_type is not None:
        return f"ended by a limit ({result.error_type}), exit code {result.return_code}"
    return f"exit code {result.return_code}"
