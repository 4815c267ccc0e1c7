# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path
from typing import Any

import nemo_gym
import pytest
import yaml
from pydantic import ValidationError

from support.gym_servers.in_process import make_verify_body
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.agent.config import VibenchAgentConfig
from vibench_gym.gym.rows.rows import rows
from vibench_gym.gym.server.config import VibenchResourcesServerConfig
from vibench_gym.gym.wire import (
    HarnessStatus,
    PlanResult,
    VibenchRunRequest,
    VibenchVerifyRequest,
    VibenchVerifyResponse,
)

pytestmark = pytest.mark.gym
REPO = Path(__file__).resolve().parents[2]
OURS = REPO / "resources_servers/vibench"
INSTALLED = Path(nemo_gym.__file__).parents[1]
SHIPPED = INSTALLED / "resources_servers/vibench"


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def shipped_fields(path: Path, name: str) -> set[str]:
    """Names of a shipped model's fields, read and not imported: its module needs more than it."""
    (found,) = (
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    fields = (node.target for node in found.body if isinstance(node, ast.AnnAssign))
    names = {target.id for target in fields if isinstance(target, ast.Name)}
    return {name for name in names if not name.isupper()}


def block(path: Path, *keys: str) -> dict[str, Any]:
    found: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key in keys:
        found = found[key]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("folder", [OURS, SHIPPED], ids=["ours", "shipped"])
def test_example_rows_are_five_and_fit_our_models(folder: Path) -> None:
    found = read_rows(folder / "data/example.jsonl")

    assert len(found) == 5
    for row in found:
        request = VibenchRunRequest.model_validate(row)
        assert request.app == row["app"]
        assert request.test_plans == row["test_plans"]
        assert not request.model_extra


def test_our_rows_have_the_shipped_rows_fields() -> None:
    ours, shipped = (read_rows(f / "data/example.jsonl")[0] for f in (OURS, SHIPPED))

    assert ours.keys() == shipped.keys()


def test_our_example_rows_are_what_the_bundled_tasks_give() -> None:
    assert list(rows(bundled_tasks_dir()))[:5] == read_rows(OURS / "data/example.jsonl")


def test_rows_fit_task_data() -> None:
    spec = importlib.util.spec_from_file_location("task_data", OURS / "task_data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for row in read_rows(OURS / "data/example.jsonl") + read_rows(SHIPPED / "data/example.jsonl"):
        module.TaskData.model_validate(row)

    fields = set(module.TaskData.model_fields)
    shipped = shipped_fields(SHIPPED / "task_data.py", "TaskData")
    assert fields == shipped | {"starting_tree", "needs_app_key"}


def test_responses_have_the_shipped_fields() -> None:
    app = SHIPPED / "app.py"
    ours = set(VibenchVerifyResponse.model_fields)

    assert shipped_fields(app, "VibenchVerifyResponse") <= ours
    assert shipped_fields(app, "VibenchTaskRequest") <= ours
    assert shipped_fields(app, "PlanResult") <= set(PlanResult.model_fields)


def test_config_keys_of_the_shipped_server_mean_something_here() -> None:
    # An app is removed from its store by nobody: other rollouts may have built the same.
    left_out = {"remove_artifact_after_grading"}
    shipped = shipped_fields(SHIPPED / "app.py", "VibenchResourcesServerConfig") - left_out

    assert shipped <= set(VibenchResourcesServerConfig.model_fields)


def test_config_keys_of_the_shipped_agent_mean_something_here() -> None:
    keys = block(
        SHIPPED / "configs/vibench.yaml",
        "vibench_opencode_agent",
        "responses_api_agents",
        "vibench_agent",
    )
    assert keys.keys() - {"datasets"} <= set(VibenchAgentConfig.model_fields)


def test_our_config_has_the_shipped_instances_and_only_known_keys() -> None:
    ours, shipped = (
        yaml.safe_load((f / "configs/vibench.yaml").read_text()) for f in (OURS, SHIPPED)
    )
    assert shipped.keys() <= ours.keys()

    server = block(OURS / "configs/vibench.yaml", "vibench_resources_server", "resources_servers")
    agent = block(OURS / "configs/vibench.yaml", "vibench_opencode_agent", "responses_api_agents")
    described = {"verified", "description", "value", "datasets"}
    assert server["vibench"].keys() - described <= set(VibenchResourcesServerConfig.model_fields)
    assert agent["vibench_agent"].keys() - described <= set(VibenchAgentConfig.model_fields)


def test_app_is_a_page_of_nothing() -> None:
    assert len((OURS / "app.py").read_text(encoding="utf-8").splitlines()) <= 20


@pytest.mark.parametrize("digest", ["/srv/app.tar", "../x", "A" * 64, "a" * 65, "a" * 64 + "\n"])
def test_an_artifact_is_named_by_its_digest_only(digest: str) -> None:
    with pytest.raises(ValidationError, match="artifact_sha256"):
        VibenchVerifyRequest.model_validate(make_verify_body(digest))


@pytest.mark.parametrize(
    ("fields", "identity"),
    [
        ({"rollout_id": "abc"}, "abc"),
        ({"rollout_id": "abc", "_ng_task_index": 1, "_ng_rollout_index": 2}, "abc"),
        ({"_ng_task_index": 1, "_ng_rollout_index": 2}, "1-2"),
        ({"_ng_task_index": 1, "_ng_rollout_index": 2, "_ng_attempt_index": 1}, "1-2-a1"),
        ({"_ng_rollout_id": "explicit"}, "explicit"),
        ({}, ""),
    ],
)
def test_a_rollout_is_known_by_its_id_or_its_indices(fields: dict[str, Any], identity: str) -> None:
    request = VibenchVerifyRequest.model_validate(make_verify_body("a" * 64, **fields))

    assert request.identity == identity


def test_reports_call_a_rollout_by_its_indices_first() -> None:
    body = make_verify_body(
        "a" * 64, rollout_id="0123456789", _ng_task_index=1, _ng_rollout_index=2
    )
    labels = [
        VibenchVerifyRequest.model_validate(fields).label
        for fields in (body, {**body, "rollout_id": None}, make_verify_body("a" * 64))
    ]

    assert labels == ["1-2.01234567", "1-2", "a" * 12]


def test_harness_statuses_are_measured_or_not() -> None:
    measured = {status for status in HarnessStatus if status.measured}

    assert measured == {HarnessStatus.OK, HarnessStatus.TIMEOUT, HarnessStatus.HARNESS_FAILED}
