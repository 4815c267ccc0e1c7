# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Every harness in a box keeps the contract, and one line registers a harness."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from pydantic import ValidationError

from support.gym_servers.building import (
    CALL,
    STEP,
    ShellHarness,
    agent_config,
    recording_gym,
)
from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.agent.harnesses.base import BoxHarness, TreeHarness
from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode
from vibench_gym.gym.agent.harnesses.opencode.install import ensure
from vibench_gym.gym.agent.harnesses.registry import HARNESSES, make_harness
from vibench_gym.gym.agent.server import VibenchAgent
from vibench_gym.testing.contracts.harness import HarnessContract, HarnessInBoxContract

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gym
in_boxes = [pytest.mark.sandbox, pytest.mark.postgres]


def events(*named: tuple[str, dict[str, Any]]) -> bytes:
    lines = [{"type": kind, "sessionID": "ses_1", **fields} for kind, fields in named]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class OpenCodeOutputs:
    one_call: ClassVar[bytes] = events(
        ("step_start", {"part": {"messageID": "m1", "id": "p1"}}),
        ("text", {"part": {"id": "p2", "text": "I büild it."}}),
        (
            "step_finish",
            {
                "part": {
                    "messageID": "m1",
                    "reason": "stop",
                    "tokens": {"input": 10, "output": 3, "reasoning": 2, "cache": {"read": 5}},
                }
            },
        ),
    )
    no_answer: ClassVar[bytes] = events(
        ("error", {"error": {"name": "APIError", "data": {"message": "Unable to connect."}}})
    )


class TestOpenCode(OpenCodeOutputs, HarnessContract):
    @pytest.fixture
    def harness(self) -> BoxHarness:
        return OpenCode(ensure())


class TestOpenCodeOfAnImage(OpenCodeOutputs, HarnessContract):
    @pytest.fixture
    def harness(self) -> BoxHarness:
        return OpenCode(None, path_in_image="/usr/local/bin/opencode")


class TestShell(OpenCodeOutputs, HarnessContract):
    @pytest.fixture
    def harness(self) -> BoxHarness:
        return ShellHarness(STEP)


class TestOpenCodeInABox(HarnessInBoxContract):
    pytestmark = in_boxes

    @pytest.fixture
    def harness(self) -> BoxHarness:
        return OpenCode(ensure())


class TestShellInABox(HarnessInBoxContract):
    pytestmark = in_boxes

    @pytest.fixture
    def harness(self) -> BoxHarness:
        answered = CALL.replace("curl ", "curl -f ")
        return ShellHarness(f"{answered} && {{ {STEP}\n}}")


# --- registry


def test_every_harness_is_registered_by_its_name() -> None:
    assert {"opencode", "oracle", "nop"} <= HARNESSES.keys()
    assert all(HARNESSES[name].name == name for name in HARNESSES)
    for harness in HARNESSES.values():
        assert issubclass(harness, BoxHarness if harness.needs_box else TreeHarness)


def test_a_name_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no harness 'shell', but opencode, oracle, nop"):
        agent_config(tmp_path, harness="shell")


def test_one_line_registers_a_harness_with_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HARNESSES, "shell", ShellHarness)
    settings = agent_config(tmp_path, harness="shell", harness_options={"script": STEP})
    served = VibenchAgent(config=settings, server_client=recording_gym(1))
    served.setup_webserver()

    assert isinstance(served.harness, ShellHarness)
    assert (served.harness.script, served.harness.checked) == (STEP, ["asked"])
    assert served.harness is served.harness


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"script": "true", "colour": "red"}, "shell does not know colour"),
        ({}, "script"),
        ({"script": 7}, "script"),
    ],
)
def test_options_that_a_harness_does_not_take_stop_the_start(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.setitem(HARNESSES, "shell", ShellHarness)

    with pytest.raises(ConfigError, match=f"(?s)harness_options: .*{message}"):
        make_harness("shell", {"unrelated": 1}, options)


def test_settings_beside_the_harness_and_its_options_are_one(tmp_path: Path) -> None:
    settings = agent_config(
        tmp_path,
        preinstalled_opencode=True,
        opencode_max_output_tokens=1000,
        harness_options={"opencode_max_output_tokens": 2000, "opencode_config": {"share": "auto"}},
    )
    made = VibenchAgent(config=settings, server_client=recording_gym(1)).harness

    assert made == OpenCode(None, output_tokens=2000, settings={"share": "auto"})
    assert made.image_executable == "opencode"
