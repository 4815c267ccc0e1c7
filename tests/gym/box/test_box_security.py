# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A curious policy in a real build box, through the real OpenCode, finds nothing it should not."""

from __future__ import annotations

import asyncio
import json
import socket
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from nemo_gym.openai_utils import NeMoGymFunctionCallOutput
from nemo_gym.sandbox import AsyncSandbox, SandboxSpec

from support.attacks import probe
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode
from vibench_gym.gym.agent.harnesses.opencode.install import ensure
from vibench_gym.testing.policies import Scripted, Turn, bash, write
from vibench_gym.testing.policy_server import PolicyServer

if TYPE_CHECKING:
    from support.gym_servers.building import BuildWith
    from vibench_gym.gym.box.provider import BubblewrapProvider

pytestmark = [pytest.mark.gym, pytest.mark.sandbox, pytest.mark.postgres]
PROBE = Path(probe.__file__).read_text(encoding="utf-8")
KEY = "sk-canary-of-the-graders-6d1f"
OTHER = "canary-of-another-rollout-77e2"
CONTROL = "canary-of-the-brief-0b45"
RUN = "/ng-rollout/3-1"


def longest_line(path: Path) -> str:
    return max(path.read_text(encoding="utf-8").splitlines(), key=len).strip()


def grader_secrets() -> dict[str, str]:
    task = bundled_tasks_dir() / "herbarium"
    prompts = files("vibench_gym.grading.prompts")
    system = prompts.joinpath("qa_system.j2").read_text(encoding="utf-8")
    return {
        "plan": longest_line(task / "tests/mvp/test1.txt"),
        "script": longest_line(task / "replay/mvp/test1.qa.yaml"),
        "test asset": longest_line(task / "test_assets/field-notes.txt"),
        "grader code": max(system.splitlines(), key=len).strip(),
        "key": KEY,
        "other rollout": OTHER,
    }


def outward_address() -> str | None:
    """An address of this host that is not loopback, without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(sock.getsockname()[0])


def findings(items: tuple[Any, ...]) -> dict[str, Any]:
    outputs = [str(i.output) for i in items if isinstance(i, NeMoGymFunctionCallOutput)]
    found: dict[str, Any] = json.loads(next(text for text in outputs if text.startswith("{")))
    return found


@pytest.mark.timeout(900)
async def test_a_curious_policy_finds_nothing(
    build_with: BuildWith, provider: BubblewrapProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIBENCH_GYM_API_KEY", KEY)
    other = AsyncSandbox(provider, SandboxSpec(workdir="/app"), owns_provider=False)
    await other.start()
    working = asyncio.create_task(
        other.exec(f"echo {OTHER} > other.txt; exec -a {OTHER} sleep 600", timeout_s=600)
    )
    listener = socket.create_server(("", 0))
    port = listener.getsockname()[1]
    hosts: list[tuple[str, int]] = [("127.0.0.1", port), ("169.254.169.254", 80), ("8.8.8.8", 53)]
    outward = outward_address()
    if outward:
        hosts.append((outward, port))
    asked = {
        "words": [*grader_secrets().values(), CONTROL],
        "hosts": hosts,
        "resolve": ["example.com", "localhost"],
        "route": "http://127.0.0.1:3142",
        "paths": [
            f"{RUN}/v1/chat/completions",
            "/ng-rollout/4-0/v1/chat/completions",
            "/v1/chat/completions",
            f"{RUN}/../4-0/v1/chat/completions",
            f"{RUN}/v1/../../4-0/v1/chat/completions",
            f"{RUN}/v1/%2e%2e/%2e%2e/4-0/v1/chat/completions",
            f"{RUN}x/v1/chat/completions",
            "/",
            "/global_config_dict_yaml",
        ],
        "proxied": [f"http://{outward or '127.0.0.2'}:{port}/", "http://example.com/"],
    }

    turns = (
        Turn(calls=(write("look.py", PROBE),)),
        Turn(calls=(bash(f"python look.py {json.dumps(asked).encode().hex()}"),)),
    )
    try:
        async with PolicyServer({"policy": Scripted(turns)}, "policy") as endpoint:
            build = await build_with(
                OpenCode(ensure()),
                port=endpoint.port,
                limit_s=600,
                files={"/app/prd.txt": CONTROL.encode()},
            )
    finally:
        working.cancel()
        listener.close()
        await other.stop()

    found = findings(build.transcript.items)
    assert found["files"] == [f"{CONTROL} in /app/prd.txt"]
    assert found["names"] == []
    assert found["environment"] == []
    assert not any(OTHER in line for line in found["processes"])
    assert set(found["ports"]) == {3141, 3142, 5432}
    assert found["connected"] == []
    # The name of the database's socket shows; its file is in the database's own box.
    assert set(found["unix"]) <= {"/tmp/.s.PGSQL.5432"}  # noqa: S108 (in the box)
    assert found["resolved"] == ["localhost"]
    assert found["route"].pop(f"{RUN}/v1/chat/completions") == 200
    assert set(found["route"].values()) == {403}
    assert set(found["proxy"].values()) == {403}
    assert found["privileges"] == []
    assert found["inherited"] == []
