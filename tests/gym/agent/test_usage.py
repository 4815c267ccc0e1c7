# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whose numbers a rollout's tokens are."""

from __future__ import annotations

import pytest
from nemo_gym.openai_utils import NeMoGymResponseCreateParamsNonStreaming

from vibench_gym.gym.agent.attribution import Evidence
from vibench_gym.gym.agent.build import BuildResult
from vibench_gym.gym.agent.harnesses.base import Transcript
from vibench_gym.gym.agent.rollout_row import response_of
from vibench_gym.gym.box.build_box import CommandResult
from vibench_gym.gym.box.call_usage import Usage
from vibench_gym.gym.box.model_route import ModelTraffic
from vibench_gym.gym.wire import HarnessStatus

pytestmark = pytest.mark.gym
END = CommandResult(0, timed_out=False, box_failed=False, duration_s=1.0)
TOLD, CARRIED = Usage(7, 2), Usage(70, 20, 3, 4)


@pytest.mark.parametrize(
    ("traffic", "sessions", "counted"),
    [
        (ModelTraffic(counted=2, usage=CARRIED), ("root", "sub"), CARRIED),
        (ModelTraffic(counted=1, usage=CARRIED), ("root",), CARRIED),
        (ModelTraffic(answered=1), ("root",), TOLD),
        (None, ("root",), TOLD),
        (None, (), TOLD),
        (None, ("root", "sub"), None),
        (ModelTraffic(answered=2), ("root", "sub"), None),
    ],
)
def test_tokens_are_the_routes_else_the_harnesss_else_unknown(
    traffic: ModelTraffic | None, sessions: tuple[str, ...], counted: Usage | None
) -> None:
    transcript = Transcript(usage=TOLD, sessions=sessions)
    usage = Evidence(END, transcript, traffic).usage
    assert usage == counted

    asked = NeMoGymResponseCreateParamsNonStreaming(input="Build.")
    said = response_of(asked, BuildResult(HarnessStatus.OK, usage=usage), "policy_model").usage
    if counted is None:
        assert said is None
    else:
        assert said is not None
        assert (said.input_tokens, said.output_tokens) == (
            counted.input_tokens,
            counted.output_tokens,
        )
        assert said.input_tokens_details.cached_tokens == counted.cached_tokens
        assert said.output_tokens_details.reasoning_tokens == counted.reasoning_tokens
