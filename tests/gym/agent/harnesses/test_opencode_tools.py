# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""OpenCode's tools that need something around them: searches, pictures, sub-agents; in a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode
from vibench_gym.gym.agent.harnesses.opencode.install import ensure
from vibench_gym.gym.wire import HarnessStatus
from vibench_gym.testing.policies import Scripted, Turn, bash, use_tools
from vibench_gym.testing.policy_server import PolicyServer

if TYPE_CHECKING:
    from support.gym_servers.building import BuildWith
    from vibench_gym.gym.agent.build import BuildResult

pytestmark = [
    pytest.mark.gym,
    pytest.mark.sandbox,
    pytest.mark.postgres,
    pytest.mark.long,
    pytest.mark.timeout(1800),
]
LIMIT_S = 1500.0
"""For a busy host: what is measured here is no speed."""
START = "#!/bin/sh\nexec serve --port $APPLICATION_PORT\n"
FILES = {"/app/prd.txt": b"Build a shop.", "/app/start-server.sh": START.encode()}
POLICIES = {
    "policy": Scripted(use_tools("helper")),
    "helper": Scripted((Turn("I look.", (bash("ls"),)), Turn("I saw it all."))),
}


def outputs(build: BuildResult) -> dict[str, str]:
    """What each tool gave, by its name."""
    items = [item.model_dump() for item in build.transcript.items if hasattr(item, "model_dump")]
    names = {item["call_id"]: item["name"] for item in items if item["type"] == "function_call"}
    results = (item for item in items if item["type"] == "function_call_output")
    return {names[item["call_id"]]: str(item["output"]) for item in results}


async def test_searches_pictures_and_sub_agents_work_and_are_counted(
    build_with: BuildWith,
) -> None:
    async with PolicyServer(POLICIES, "policy") as endpoint:
        build = await build_with(
            OpenCode(ensure()), port=endpoint.port, files=FILES, limit_s=LIMIT_S
        )

    assert build.status is HarnessStatus.OK, build.detail
    assert all(tool.completed for tool in build.transcript.tools), outputs(build)
    given = outputs(build)
    assert given["glob"].split() == ["/app/start-server.sh"]
    assert "exec serve --port" in given["grep"]
    assert endpoint.most_pictures == 1
    assert "I saw it all." in given["task"]
    # Two conversations: the second is the sub-agent's, of which the transcript has no numbers.
    assert endpoint.requests.count("helper") == 2
    assert len(build.sessions) == 2
    assert build.sessions == build.transcript.sessions
    assert build.model_calls == len(endpoint.requests) > build.transcript.model_calls
    assert build.usage is not None
    assert build.usage.input_tokens == endpoint.prompt_tokens
    assert build.usage.output_tokens == endpoint.completion_tokens
    assert build.usage.input_tokens > build.transcript.usage.input_tokens


@pytest.mark.parametrize("pictures", [False, True])
async def test_a_model_without_eyes_goes_on_where_none_are_shown(
    build_with: BuildWith, *, pictures: bool
) -> None:
    async with PolicyServer(POLICIES, "policy", text_only=True) as endpoint:
        build = await build_with(
            OpenCode(ensure()),
            port=endpoint.port,
            files=FILES,
            pictures=pictures,
            limit_s=LIMIT_S,
        )

    if pictures:  # why the model is asked first
        assert build.status is HarnessStatus.HARNESS_FAILED
    else:
        assert build.status is HarnessStatus.OK, build.detail
        assert endpoint.most_pictures == 0
        assert "I saw it all." in outputs(build)["task"]
