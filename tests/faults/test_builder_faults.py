# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The builder's side, in real boxes: what we fail at masks, what a builder breaks is scored."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.attacks.hostile_builds import APP, HONEST, HostileBuilds
from support.faults.endings import Ending
from support.gym_servers.building import (
    CALL,
    STEP,
    ShellHarness,
    agent_config,
    agent_with,
    recording_gym,
)
from vibench_gym.core.errors import SandboxUnavailable
from vibench_gym.gym.wire import HarnessStatus
from vibench_gym.testing.policies import Scripted, Turn
from vibench_gym.testing.policy_server import PolicyServer

if TYPE_CHECKING:
    from pathlib import Path

    from support.faults.endings import Point, Tell
    from vibench_gym.gym.agent.build import BuildResult

pytestmark = [
    pytest.mark.gym,
    pytest.mark.sandbox,
    pytest.mark.postgres,
    pytest.mark.timeout(300),
]


def came_to(build: BuildResult) -> Ending:
    """A build as the table shows it: what is measured goes on to be graded."""
    status = str(build.status)
    if not build.status.measured:
        return Ending("masked", status, status, why=build.detail)
    return Ending("scored", status, reward=float(build.artifact_sha256 is not None), attempts=1)


@dataclass(frozen=True)
class Breaking:
    """What a builder does after it has spoken with the model and written its app."""

    name: str
    point: Point
    script: str
    status: HarnessStatus
    options: dict[str, Any] = field(default_factory=dict)
    kept: bool = True

    def __str__(self) -> str:
        return self.name


FAILED, OK = HarnessStatus.HARNESS_FAILED, HarnessStatus.OK
BREAKING = (
    Breaking("kills its harness", "harness", "kill -9 $PPID; kill -9 -1", FAILED),
    Breaking("deletes what its harness said", "harness", "rm -rf /tmp/.build-*; exit 1", FAILED),
    Breaking(
        "lets its harness hang", "harness", "sleep 600", HarnessStatus.TIMEOUT, {"limit_s": 3}
    ),
    Breaking(
        "calls the model wrongly to the end",
        "harness",
        'for i in 1 2 3; do curl -s -d nonsense "$BASE_URL/chat/completions"; done; exit 1',
        FAILED,
    ),
    Breaking(
        "claims that the model is gone",
        "harness",
        "echo 'Error: connect ECONNREFUSED: model unreachable' >&2; exit 1",
        FAILED,
    ),
    Breaking("fills its box", "build box", "head -c 300M /dev/zero > /tmp/big; exit 1", FAILED),
    Breaking(
        "builds what is too large to be an app",
        "build box",
        "for i in 1 2 3; do truncate -s 1500M big$i; done",
        OK,
        kept=False,
    ),
    Breaking(
        "replaces the tools of its box",
        "build box",
        "mkdir -p ~/bin; printf '#!/bin/sh\\nexit 1\\n' | tee ~/bin/tar ~/bin/find > ~/bin/bash;"
        " chmod +x ~/bin/*; echo 'PATH=~/bin:$PATH' >> ~/.profile; exit 0",
        OK,
    ),
    Breaking("forks without end", "build box", "b() { b | b & }; b; sleep 2; exit 1", FAILED),
    Breaking("closes its folder", "build box", "chmod 0 /app; exit 0", OK),
)


@pytest.mark.parametrize("case", BREAKING, ids=str)
async def test_a_builder_masks_nothing(tmp_path: Path, tell: Tell, case: Breaking) -> None:
    async with HostileBuilds(tmp_path) as builds:
        build = await builds.build(f"{CALL}; {STEP}; {APP}; {case.script}", **case.options)
    end = came_to(build)
    tell(case.name, case.point, "sabotage", end)
    assert (end.verdict, build.status) == ("scored", case.status), build
    assert (build.artifact_sha256 is not None) == case.kept


async def test_a_policy_that_refuses_every_call_masks(tmp_path: Path, tell: Tell) -> None:
    async with HostileBuilds(tmp_path, turns=(Turn(status=401),) * 9) as builds:
        end = came_to(await builds.build(f"{CALL}; exit 1"))
    tell("policy answers 401", "harness", "for good", end)
    assert end.kind == HarnessStatus.UNREACHABLE_MODEL


SHOWS = (
    'if [ -n "$PICTURES" ]; then ' + CALL.replace("curl ", "curl -f ").replace(
        '"content": "hi"',
        '"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]',
    ) + " || exit 1; fi"
)  # fmt: skip
"""A harness that shows the model a picture where it may, and ends badly where that is refused."""
ROW: dict[str, Any] = {
    "app": "shop",
    "artifact": "mvp",
    "prd_files": ["prds/shop/prd/mvp.txt"],
    "test_plans": ["prds/shop/tests/mvp/test1.txt"],
    "responses_create_params": {"input": [{"role": "user", "content": "Build ./prd.txt"}]},
}


@pytest.mark.parametrize(
    ("text_only", "told", "status", "shown"),
    [
        (False, None, "ok", 1),
        (True, None, "ok", 1),  # shown once, by us, to see whether it looks
        (True, False, "ok", 0),
        (True, True, "harness_failed", 1),  # the operator's word is not doubted
    ],
)
async def test_a_policy_without_eyes_builds_as_one_that_is_shown_nothing(
    tmp_path: Path, tell: Tell, *, text_only: bool, told: bool | None, status: str, shown: int
) -> None:
    policies = {"policy": Scripted((Turn("Hello."),))}
    async with PolicyServer(policies, "policy", text_only=text_only) as policy:
        gym = recording_gym(policy.port)
        config = agent_config(tmp_path / "artifacts", model_takes_pictures=told)
        served = agent_with(ShellHarness(f"{CALL}; {SHOWS}; {STEP}; {APP}"), config, gym)
        transport = httpx.ASGITransport(app=served.setup_webserver())
        async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
            answer = await client.post("/run", json=ROW, timeout=250)

    row = answer.json()
    tell(
        f"policy {'without' if text_only else 'with'} eyes, {told or 'asked'}",
        "harness",
        "for good",
        Ending("scored", status, reward=row["reward"], attempts=1),
    )
    assert (row["harness_status"], row["mask_sample"]) == (status, False)
    assert policy.most_pictures == shown


async def test_a_policy_that_is_not_there_masks(tmp_path: Path, tell: Tell) -> None:
    async with HostileBuilds(tmp_path) as builds:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            builds.policy.port = taken.getsockname()[1]
        end = came_to(await builds.build(f"{CALL}; exit 1"))
    tell("policy not there", "harness", "for good", end)
    assert end.kind == HarnessStatus.UNREACHABLE_MODEL


async def test_a_harness_that_never_starts_masks(tmp_path: Path, tell: Tell) -> None:
    async with HostileBuilds(tmp_path) as builds:
        end = came_to(await builds.build("exit 127"))
    tell("harness does not start", "harness", "for good", end)
    assert end.kind == HarnessStatus.NO_MODEL_CALL


async def test_a_box_that_cannot_be_had_masks(tmp_path: Path, tell: Tell) -> None:
    async with HostileBuilds(tmp_path) as builds:
        end = came_to(await builds.build(HONEST, volumes=["/"]))
    tell("no build box", "build box", "for good", end)
    assert end.kind == HarnessStatus.BOX_FAILED


async def test_a_harvest_that_has_no_room_masks(
    tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SandboxUnavailable("the app's files cannot be stored: no space left on device")

    monkeypatch.setattr("vibench_gym.gym.box.harvest.pack_tree", full)
    async with HostileBuilds(tmp_path) as builds:
        end = came_to(await builds.build(HONEST))
    tell("no room for the harvest", "build box", "for good", end)
    assert end.kind == HarnessStatus.HARVEST_FAILED
