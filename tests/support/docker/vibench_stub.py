# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a checkout of ViBench: its two scripts run real Compose projects, without models.

What the agents would do, the app says: `agent-seed.sh` and `agent-evaluate.sh` are run in the
containers in their place, with the same mounts, the same environment and the same files to write.
The scripts take the same arguments and take their projects down in `finally`, as ViBench's do.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

IMAGE = "vibench-gym-stub:latest"
TOKEN = "AGENT_STUB_TOKEN"
"""Variable with a word that marks all that the scripts make: the label `stub`, and names."""
_SCRIPT = """\
import sys

sys.path.insert(0, {tests!r})
from support.docker.vibench_stub import {name}

{name}()
"""
_TESTS = str(Path(__file__).resolve().parents[2])
_ENV_CREATOR = """\
import os


def get_env_dict(model):
    if model == "broken":
        raise SystemExit("no " + model + " for " + str(dict(os.environ)))
    key = os.environ.get("ANTHROPIC_API_KEY", "")
    found = {"OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "")}
    found["EFFECTIVE_CONTEXT_WINDOW"] = "200000"
    for slot in ("SEEDING_LLM", "EVALUATION_LLM", "EVALUATION_COMPRESSION_LLM"):
        found["AGENT_" + slot + "_API_KEY"] = key
        found["AGENT_" + slot + "_MODEL"] = "stub/" + model
    return found
"""
_DOCKERFILE = """\
ARG BASE_IMAGE=none
FROM ${{BASE_IMAGE}}
LABEL stub={token}
WORKDIR /app
COPY app ./
COPY test-plan.txt /test-plan.txt
COPY seeding /seeding
COPY test_assets /test_assets
RUN if test -f /app/on-build.sh; then sh /app/on-build.sh; fi
ENTRYPOINT ["/bin/sh", "/app/agent.sh"]
"""
_COMPOSE = """\
version: '3.8'
services:
  postgres:
    image: {base}
    command: ["sleep", "1000"]
    stop_grace_period: 1s
    volumes: ["data:/data"]
    healthcheck:
      test: ["CMD", "true"]
      interval: 1s
  app:
    image: {image}
    stop_grace_period: 1s
    depends_on:
      postgres:
        condition: service_healthy
    environment:
      AGENT_LLM_API_KEY: ${{AGENT_LLM_API_KEY:-}}
      AGENT_SEEDING_LLM_API_KEY: ${{AGENT_SEEDING_LLM_API_KEY:-}}
      AGENT_EVALUATION_LLM_API_KEY: ${{AGENT_EVALUATION_LLM_API_KEY:-}}
      OPENAI_API_KEY: ${{OPENAI_API_KEY:-}}
volumes:
  data:
"""


def make_checkout(root: Path) -> Path:
    """The graders' part of a checkout."""
    scripts = root / "_harness/runner/scripts"
    scripts.mkdir(parents=True)
    for file, name in (("run-seed.py", "seed"), ("run-evaluate-post-seeding.py", "evaluate")):
        (scripts / file).write_text(_SCRIPT.format(name=name, tests=_TESTS), encoding="utf-8")
    (scripts / "env_creator.py").write_text(_ENV_CREATOR, encoding="utf-8")
    return root


def make_judged_app(folder: Path, scripts: Mapping[str, str]) -> Path:
    """An app that says what the agents do: `agent-seed.sh`, `agent-evaluate.sh`, `on-build.sh`."""
    folder.mkdir(parents=True, exist_ok=True)
    start = "#!/bin/sh\nexit 0\n"
    for name, text in {"setup-environment.sh": start, "start-server.sh": start, **scripts}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def seed() -> None:
    """`run-seed.py`."""
    arguments = _arguments()
    kept = {"/seeding": "seeding", "/agent-traces-seeding": "agent-traces-seeding"}
    sys.exit(_run("seed", arguments, kept))


def evaluate() -> None:
    """`run-evaluate-post-seeding.py`."""
    arguments = _arguments()
    if not (arguments.seeding / "seed.sh").exists():
        sys.exit("no seed.sh")
    card = "evaluation-finished.json"
    kept = {f"/{card}": card, "/agent-traces-evaluation": "agent-traces-evaluation"}
    sys.exit(_run("evaluate", arguments, kept))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("app-dir", "test-plan", "output-dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("seeding", "test-assets"):
        parser.add_argument(f"--{name}", type=Path)
    return parser.parse_args()


def _run(phase: str, arguments: argparse.Namespace, kept: Mapping[str, str]) -> int:
    token = os.environ.get(TOKEN, "none")
    project = f"stub-{phase}-{token}-{uuid.uuid4().hex[:8]}"
    context = Path(tempfile.gettempdir()) / project
    print(f"{phase}: project {project}", flush=True)  # noqa: T201 - a script's output
    for line in _indiscreet(os.environ.get("AGENT_STUB_TELLS", "")):
        print(line, flush=True)  # noqa: T201 - a script that tells too much
    _make_context(context, phase, arguments)
    build = ["docker", "build", "--build-arg", f"BASE_IMAGE={IMAGE}", "-t", project, str(context)]
    if subprocess.call(build) != 0:
        return 1
    shutil.rmtree(context)
    try:
        return _compose(project, arguments.output_dir, kept)
    finally:
        _quiet("docker", "image", "rm", project)


def _indiscreet(name: str) -> list[str]:
    """The value of a variable in the forms that programs print, whole and in pieces."""
    if not (secret := os.environ.get(name, "")):
        return []
    data = f"user:{secret}".encode()
    return [
        f"{name}={secret}",
        str(dict(os.environ)),
        secret[::-1],
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        data.hex(),
        data.hex(" ").upper(),
        quote(secret, safe=""),
        "".join(f"%{byte:02X}" for byte in data),
        f"{secret[:16]}\n{secret[16:]}",
        f"head {secret[:16]} tail {secret[16:]}",
        " ".join(secret),
        repr([secret[at : at + 5] for at in range(0, len(secret), 5)]),
    ]


def _make_context(context: Path, phase: str, arguments: argparse.Namespace) -> None:
    context.mkdir()
    recipe = _DOCKERFILE.format(token=os.environ.get(TOKEN, "none"))
    (context / "Dockerfile").write_text(recipe, encoding="utf-8")
    shutil.copytree(arguments.app_dir, context / "app")
    (context / "app/agent.sh").write_text(f". /app/agent-{phase}.sh\n", encoding="utf-8")
    shutil.copy(arguments.test_plan, context / "test-plan.txt")
    for name, folder in (("seeding", arguments.seeding), ("test_assets", arguments.test_assets)):
        if folder:
            shutil.copytree(folder, context / name)
        else:
            (context / name).mkdir()


def _compose(project: str, output: Path, kept: Mapping[str, str]) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".yml", delete=False) as file:
        file.write(_COMPOSE.format(base=IMAGE, image=project))
    compose = ["docker-compose", "-p", project, "-f", file.name]
    try:
        up = [*compose, "up", "--abort-on-container-exit", "--exit-code-from", "app"]
        code = subprocess.call(up)
        for path, name in kept.items():
            target = str(output if "." not in name else output / name)
            _quiet("docker", "cp", f"{project}-app-1:{path}", target)
        with (output / "app.log").open("wb") as log, contextlib.suppress(OSError):
            subprocess.call(["docker", "logs", f"{project}-app-1"], stdout=log, stderr=log)
        return code
    finally:
        _quiet(*compose, "down", "--volumes", "--remove-orphans")


def _quiet(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=False)
