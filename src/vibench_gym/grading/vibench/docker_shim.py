# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Stands for `docker` and `docker-compose` on the PATH of ViBench's scripts. Standard library only.

It becomes the real program at once (`exec`), after three changes: either Compose answers to both of
its names; what a run makes carries the run's label or stands in its ledger (`docker_objects`)
before it is made; and older engines do as the scripts expect: containers of Compose 1 are found
under the names that Compose 2 gives them, and a build may copy what a pattern finds where it finds
nothing.

Called with SETTINGS NAME ARGUMENT ...; SETTINGS is a JSON file of `Settings`' fields.
"""

from __future__ import annotations

import glob
import json
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

from vibench_gym.grading.vibench import docker_objects

_WITH_VALUE = {"-H", "--host", "-c", "--context", "-l", "--log-level", "--config"}
_COMPOSE_WITH_VALUE = {"-f", "--file", "-p", "--project-name", "--profile", "--env-file"}
_MADE_BY = {("run",), ("create",), ("container", "run"), ("container", "create")}
_NAMED = {("network", "create"), ("volume", "create")}
_FROM = re.compile(r"^\s*FROM\s", re.IGNORECASE)
_COMPOSE_2_NAME = re.compile(r"^([a-z0-9][a-z0-9_-]*)-([A-Za-z0-9._]+)-([0-9]+)(:.*)?$")


class Settings(NamedTuple):
    """What the shim needs to know of this host and this run."""

    docker: str
    """The real program."""
    compose: list[str]
    """The command of the Compose there is: `docker-compose`, or `docker compose`."""
    compose_1: bool
    """Whether that is Compose 1, with its underscores."""
    run: str
    folder: str
    keep: list[str]
    """Image tags that stay: what they name is shared by all runs."""


def command(settings: Settings, name: str, arguments: list[str]) -> list[str]:
    """The command that the call stands for."""
    if name == "docker-compose":
        return _compose(settings, arguments)
    verbs, rest = _verbs(arguments)
    if verbs[:1] == ("compose",):
        return _compose(settings, arguments[rest - len(verbs) + 1 :])
    if verbs[:1] == ("build",) or verbs[:2] in {("image", "build"), ("builder", "build")}:
        return [settings.docker, *_build(settings, arguments)]
    label = ["--label", f"{docker_objects.LABEL}={settings.run}"]
    for made in (verbs[:1], verbs[:2]):
        if made in _MADE_BY | _NAMED:
            at = rest - len(verbs) + len(made)
            return [settings.docker, *arguments[:at], *label, *arguments[at:]]
    if settings.compose_1:
        arguments = [_compose_1_name(settings, argument) for argument in arguments]
    return [settings.docker, *arguments]


def _verbs(arguments: list[str]) -> tuple[tuple[str, ...], int]:
    """The first two words after docker's own options, and where they end."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _WITH_VALUE else 1
    verbs = tuple(word for word in arguments[at : at + 2] if not word.startswith("-"))
    return verbs, at + len(verbs)


def _compose(settings: Settings, arguments: list[str]) -> list[str]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        name, equals, value = arguments[at].partition("=")
        if name in _COMPOSE_WITH_VALUE and not equals:
            value = arguments[at + 1] if at + 1 < len(arguments) else ""
            at += 1
        if name in {"-p", "--project-name"}:
            docker_objects.note(settings.folder, "project", value)
        at += 1
    return [*settings.compose, *arguments]


def _compose_1_name(settings: Settings, argument: str) -> str:
    """A container of one of this run's projects, as Compose 1 calls it."""
    match = _COMPOSE_2_NAME.match(argument)
    if match is None or match[1] not in docker_objects.noted(settings.folder)[0]:
        return argument
    return f"{match[1]}_{match[2]}_{match[3]}{match[4] or ''}"


def _build(settings: Settings, arguments: list[str]) -> list[str]:
    """A build with the label in every layer: what an interrupted one leaves carries it too."""
    tags = _values(arguments, {"-t", "--tag"})
    if any(tag in settings.keep for tag in tags):
        return arguments
    for tag in tags:
        docker_objects.note(settings.folder, "tag", tag)
    files = _values(arguments, {"-f", "--file"})
    context = arguments[-1]
    recipe = Path(files[-1] if files else os.path.join(context, "Dockerfile"))  # noqa: PTH118 - stdlib program, started often
    label = ["--label", f"{docker_objects.LABEL}={settings.run}"]
    try:
        text = recipe.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return [*arguments[:-1], *label, context]
    ours = Path(settings.folder, f"Dockerfile.{os.getpid()}")
    ours.write_text(_rewritten(text, settings.run, context), encoding="utf-8")
    return [*arguments[:-1], *label, "--file", str(ours), context]


def _values(arguments: list[str], names: set[str]) -> list[str]:
    found = []
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            found.append(value if equals else "".join(arguments[at + 1 : at + 2]))
    return found


def _rewritten(recipe: str, run: str, context: str) -> str:
    """The recipe with the label in every stage, and without copies of nothing.

    BuildKit copies nothing where a pattern finds nothing, as the scripts' recipes expect; the
    builder before it fails.
    """
    lines = []
    pending = False
    for line in recipe.splitlines():
        if _copies_nothing(line, context):
            continue
        lines.append(line)
        pending = pending or _FROM.match(line) is not None
        if pending and not line.rstrip().endswith("\\"):
            lines.append(f"LABEL {docker_objects.LABEL}={run}")
            pending = False
    return "\n".join(lines) + "\n"


def _copies_nothing(line: str, context: str) -> bool:
    words = line.split()
    if len(words) < 3 or words[0].upper() != "COPY" or words[1][:1] in {"-", "["}:  # noqa: PLR2004 - COPY FROM TO
        return False
    patterns = words[1:-1]
    return all("*" in one and not glob.glob(one, root_dir=context) for one in patterns)  # noqa: PTH207 - patterns, as the builder reads them


def main() -> None:
    """Become the program that the call stands for."""
    settings = Settings(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    argv = command(settings, sys.argv[2], sys.argv[3:])
    os.execv(argv[0], argv)  # noqa: S606 - no shell is wanted
