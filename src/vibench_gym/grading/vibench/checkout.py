# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where things are in a checkout of ViBench, and what its graders need on this host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vibench_gym.core.errors import ConfigError, PrerequisiteMissing

BASE_IMAGE: Final = "app-bench-base:latest"
"""Made once from the checkout, used by every run."""
_ASK_TIMEOUT_S: Final = 30.0
_RUNNER: Final = Path("_harness/runner")
_CLIENT_NAMES: Final = re.compile(
    r"DOCKER_\w+|COMPOSE_\w+|BUILDKIT_\w+|(?:HTTPS?|NO|ALL|FTP)_PROXY|SSL_CERT_\w+|REQUESTS_CA_BUNDLE"
    r"|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|XDG_RUNTIME_DIR|XDG_CONFIG_HOME",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout with ViBench's graders."""

    root: Path
    python: Path
    """The interpreter of its scripts."""

    @classmethod
    def find(cls, root: Path, python: Path | None = None) -> Checkout:
        """The checkout at `root`; its own interpreter (`.venv`) where it has one.

        Raises:
            ConfigError: the graders' scripts or the interpreter are not there.
        """
        own = root / ".venv/bin/python"
        chosen = python or (own if own.exists() else Path(sys.executable))
        found = cls(root, chosen)
        for needed in (found.seed, found.evaluate, found.scripts / "env_creator.py"):
            if not needed.is_file():
                raise ConfigError(
                    f"{str(root)!r} has no {str(needed.relative_to(root))!r}: grader: vibench "
                    "needs a whole checkout of ViBench, not its prds/ alone"
                )
        if not os.access(chosen, os.X_OK):
            raise ConfigError(f"vibench_python {str(chosen)!r} is no program")
        return found

    @property
    def scripts(self) -> Path:
        """The folder of the graders' scripts."""
        return self.root / _RUNNER / "scripts"

    @property
    def seed(self) -> Path:
        """The script that has an agent write a plan's starting state."""
        return self.scripts / "run-seed.py"

    @property
    def evaluate(self) -> Path:
        """The script that starts the app from that state and has an agent judge it."""
        return self.scripts / "run-evaluate-post-seeding.py"

    @property
    def builds_base(self) -> bool:
        """Whether runs start from the base image."""
        return (self.root / _RUNNER / "docker/Dockerfile.base").is_file()


@dataclass(frozen=True, slots=True)
class DockerHost:
    """The Docker client and Compose of this host, and the engine that they talk to."""

    docker: str
    compose: tuple[str, ...]
    compose_1: bool
    environment: dict[str, str]
    """Where the engine is, and no credential of ours."""

    def answers(self) -> bool:
        """Whether the engine answers. Blocks."""
        return _succeeds([self.docker, "info"], self.environment)


def find_docker(checkout: Checkout, path: str | None = None) -> DockerHost:
    """Look for what ViBench's graders need on this host. Blocks.

    Raises:
        PrerequisiteMissing: the first thing that is missing, and how to get it.
    """
    docker = shutil.which("docker", path=path)
    if docker is None:
        raise PrerequisiteMissing(
            "grader: vibench needs Docker, and there is no 'docker' on PATH",
            "install Docker (on Debian: apt-get install docker.io docker-compose), or use "
            "grader: builtin, which needs none",
        )
    environment = client_environment(path)
    if not _succeeds([docker, "info"], environment):
        raise PrerequisiteMissing(
            "grader: vibench needs a Docker engine, and none answers "
            f"at {environment.get('DOCKER_HOST', 'the default socket')!r}",
            "start it (systemctl start docker), set DOCKER_HOST, or join the docker group",
        )
    compose, first = _compose(docker, environment, path)
    if checkout.builds_base and not _succeeds(
        [docker, "image", "inspect", BASE_IMAGE], environment
    ):
        raise PrerequisiteMissing(
            f"the image {BASE_IMAGE!r}, from which ViBench's graders start, is not there",
            f"build it once with ViBench's own tools in {str(checkout.root)!r} (its README)",
        )
    return DockerHost(docker, compose, first, environment)


def client_environment(path: str | None = None) -> dict[str, str]:
    """What of this process's environment a Docker client may need; no credential is in it."""
    kept = {name: value for name, value in os.environ.items() if _CLIENT_NAMES.fullmatch(name)}
    return {**kept, "PATH": path or os.environ.get("PATH", os.defpath)}


def _compose(
    docker: str, environment: dict[str, str], path: str | None
) -> tuple[tuple[str, ...], bool]:
    """Compose as a plugin, else as a program of its own; and whether it is Compose 1.

    Raises:
        PrerequisiteMissing: there is neither.
    """
    if _succeeds([docker, "compose", "version"], environment):
        return (docker, "compose"), False
    program = shutil.which("docker-compose", path=path)
    version = _answer([program, "version", "--short"], environment) if program else None
    if program is None or version is None:
        raise PrerequisiteMissing(
            "grader: vibench needs Docker Compose, and neither 'docker compose' nor "
            "'docker-compose' works",
            "install one (on Debian: apt-get install docker-compose)",
        )
    return (program,), version.lstrip("v").startswith("1.")


def _succeeds(command: list[str], environment: dict[str, str]) -> bool:
    return _answer(command, environment) is not None


def _answer(command: list[str], environment: dict[str, str]) -> str | None:
    """What a command prints; None where it fails or does not end."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed commands
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
