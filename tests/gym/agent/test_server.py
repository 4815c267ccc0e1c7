# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The agent server over HTTP: real boxes, a scripted harness, a Gym that keeps what it gets."""

from __future__ import annotations

import base64
import tarfile
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from nemo_gym.rollout_observability import AgentObservationBundle
from pydantic import ValidationError

from support.gym_servers.building import (
    CALL,
    SESSION,
    STEP,
    RecordingGym,
    ShellHarness,
    agent_config,
    agent_with,
    recording_gym,
)
from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.box.model_route import ModelUrl

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.gym.agent.server import VibenchAgent
    from vibench_gym.testing.policy_server import PolicyServer

pytestmark = pytest.mark.gym
ROW: dict[str, Any] = {
    "app": "shop",
    "artifact": "mvp",
    "prd_files": ["prds/shop/prd/mvp.txt"],
    "test_plans": ["prds/shop/tests/mvp/test1.txt"],
    "responses_create_params": {"input": [{"role": "user", "content": "Build ./prd.txt"}]},
    "_ng_task_index": 3,
    "_ng_rollout_index": 1,
}
BUILDS = f"cat > prompt.txt; ls > seen.txt; {CALL}; {STEP}; echo '#!/bin/sh' > start-server.sh"


def agent(tmp_path: Path, gym: RecordingGym, script: str = BUILDS, **settings: Any) -> VibenchAgent:
    return agent_with(ShellHarness(script), agent_config(tmp_path / "artifacts", **settings), gym)


async def post(served: VibenchAgent, path: str, body: dict[str, Any]) -> httpx.Response:
    transport = httpx.ASGITransport(app=served.setup_webserver())
    async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
        return await client.post(path, json=body, timeout=100)


@pytest.mark.sandbox
@pytest.mark.postgres
async def test_a_row_is_built_stored_and_rewarded(tmp_path: Path, policy: PolicyServer) -> None:
    gym = recording_gym(policy.port, observability_enabled=True)
    asset = {"path": "img/a.svg", "content_base64": base64.b64encode(b"<svg/>").decode()}
    gym.answers["/seed_session"] = {"prd_text": "Build a shop.", "assets": [asset]}
    served = agent(tmp_path, gym)
    answer = await post(served, "/run", ROW)

    assert answer.status_code == 200, answer.text
    row = answer.json()
    assert (row["reward"], row["harness_status"], row["agent_timeout"]) == (1.0, "ok", False)
    assert [path for _, path, _ in gym.asked] == ["/seed_session", "/verify"]
    sent = gym.body("/verify")
    assert sent["app"] == "shop"
    assert sent["_ng_task_index"] == 3
    assert sent["harness_status"] == "ok"
    assert len(sent["rollout_id"]) == 32
    assert sent["response"]["output"][0]["content"][0]["text"] == "I build it."
    with tarfile.open(served.store.path(sent["artifact_sha256"])) as tar:
        names = set(tar.getnames())
        seen = tar.extractfile("seen.txt")
        assert seen is not None
        assert seen.read().decode().split() == ["assets", "prd.txt", "prompt.txt", "seen.txt"]
    assert {"start-server.sh", "assets/img/a.svg", "prd.txt"} <= names
    bundle = AgentObservationBundle.model_validate(row["ng_agent_observations"])
    assert [getattr(r, "invocation_id", r.kind) for r in bundle.records] == [SESSION, "sandbox"]
    assert "ng_trajectory" not in row


@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.parametrize(
    ("script", "settings", "status"),
    [
        (f"{CALL}; {STEP}; sleep 600", {"sandbox_timeout": 8}, "timeout"),
        (f"{CALL}; exit 1", {}, "harness_failed"),
        ("exit 1", {}, "no_model_call"),
    ],
)
async def test_every_end_is_told_to_the_resources_server(
    tmp_path: Path, policy: PolicyServer, script: str, settings: dict[str, Any], status: str
) -> None:
    gym = recording_gym(policy.port)
    answer = await post(agent(tmp_path, gym, script, **settings), "/run", ROW)

    assert answer.status_code == 200, answer.text
    assert gym.body("/verify")["harness_status"] == status
    assert gym.body("/verify")["harness_detail"]
    assert answer.json()["agent_timeout"] is (status == "timeout")
    assert "ng_agent_observations" not in answer.json()


async def test_a_box_that_cannot_be_had_is_told_too(tmp_path: Path) -> None:
    gym = recording_gym(1)
    box = {"provider_options": {"no such option": 1}}
    answer = await post(agent(tmp_path, gym, sandbox_config=box), "/run", ROW)

    assert answer.status_code == 200, answer.text
    assert gym.body("/verify")["harness_status"] == "box_failed"
    assert gym.body("/verify")["artifact_sha256"] is None


async def test_metrics_are_the_resources_servers(tmp_path: Path) -> None:
    gym = recording_gym(1)
    gym.answers["/aggregate_metrics"] = {"agent_metrics": {"a": 1}, "key_metrics": {"b": 2}}
    answer = await post(
        agent(tmp_path, gym), "/aggregate_metrics", {"verify_responses": [{"reward": 1}]}
    )

    assert answer.json()["key_metrics"] == {"b": 2}
    assert gym.asked[0][:2] == ("vibench_resources_server", "/aggregate_metrics")


@pytest.mark.sandbox
@pytest.mark.postgres
async def test_a_prompt_alone_is_answered(tmp_path: Path, policy: PolicyServer) -> None:
    gym = recording_gym(policy.port)
    answer = await post(agent(tmp_path, gym), "/v1/responses", {"input": "Build it."})

    assert answer.status_code == 200, answer.text
    assert answer.json()["output"][0]["content"][0]["text"] == "I build it."
    assert gym.asked == []


async def test_a_row_without_a_users_text_is_refused(tmp_path: Path) -> None:
    answer = await post(agent(tmp_path, recording_gym(1)), "/v1/responses", {"input": []})

    assert answer.status_code == 422


@pytest.mark.parametrize("path", ["../x", "/etc/x", ""])
async def test_assets_stay_below_their_folder(tmp_path: Path, path: str) -> None:
    gym = recording_gym(1)
    asset = {"path": path, "content_base64": ""}
    gym.answers["/seed_session"] = {"prd_text": "", "assets": [asset]}

    with pytest.raises(ConfigError, match="asset"):
        await post(agent(tmp_path, gym), "/run", ROW)


# --- start-up


def test_the_harness_is_checked_before_the_first_row(tmp_path: Path) -> None:
    served = agent(tmp_path, recording_gym(1))
    served.setup_webserver()

    assert isinstance(served.harness, ShellHarness)
    assert served.harness.checked == ["asked"]


@pytest.mark.parametrize(
    "provider", ["nowhere", {"no such provider": {}}, {"bubblewrap": {"no such setting": 1}}]
)
def test_a_wrong_provider_stops_the_start(tmp_path: Path, provider: Any) -> None:
    with pytest.raises(ConfigError, match="sandbox_provider"):
        agent(tmp_path, recording_gym(1), sandbox_provider=provider).setup_webserver()


def test_bubblewrap_is_the_default_and_a_block_of_that_name_wins(tmp_path: Path) -> None:
    plain = agent(tmp_path, recording_gym(1))
    named = agent(tmp_path, recording_gym(1, sandbox={"local": {}}))

    assert plain.provider.name == "bubblewrap"
    assert named.provider.name == "local"


@pytest.mark.parametrize(
    "settings",
    [
        {"artifact_dir": "relative"},
        {"sandbox_timeout": 0},
        {"opencode_version": "1.0.0"},
        {"sandbox_config": {"no such key": 1}},
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        agent_config(tmp_path / "artifacts", **settings)


def test_another_version_of_opencode_is_the_images_matter(tmp_path: Path) -> None:
    made = agent_config(
        tmp_path / "artifacts", opencode_version="1.17.11", preinstalled_opencode=True
    )

    assert made.opencode_version == "1.17.11"


def test_a_store_that_is_no_folder_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "artifacts").touch()

    with pytest.raises(ConfigError, match="artifacts"):
        agent(tmp_path, recording_gym(1)).setup_webserver()


def test_boxes_are_asked_for_what_the_settings_say(tmp_path: Path) -> None:
    served = agent(
        tmp_path,
        recording_gym(9, sandbox={"default_metadata": {"a": "b"}, "local": {}}),
        build_image="image:1",
        sandbox_config={"ttl_s": 60, "resources": {"memory_mib": 512}, "metadata": {"c": "d"}},
    )
    spec = served.boxes.spec(ShellHarness(BUILDS), ModelUrl("http", "127.0.0.1", 9))

    assert (spec.image, spec.ttl_s, spec.workdir) == ("image:1", 60, "/app")
    assert spec.metadata == {"a": "b", "c": "d", "nemo_gym_agent": "vibench_opencode_agent"}
    assert spec.provider_options == {}
