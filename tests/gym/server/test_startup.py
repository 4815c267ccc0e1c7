# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What stops the server when it starts, and that the message says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.gym_servers.in_process import GymLab, server_client
from vibench_gym.core.errors import ConfigError, PrerequisiteMissing
from vibench_gym.core.tasks.task import bundled_tasks_dir, load_task
from vibench_gym.grading.model_sources import EndpointModels, ReplayModels
from vibench_gym.gym.server.resources_server import VibenchResourcesServer
from vibench_gym.gym.server.startup import (
    app_model,
    check_host,
    folders,
    grader_models,
    vibench_root,
)
from vibench_gym.llm.openai import OpenAIChatModel

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.gym.server.config import VibenchResourcesServerConfig

pytestmark = pytest.mark.gym
EVERYWHERE = "0.0.0.0"  # noqa: S104 (as a model server's config says it)
MODEL_SERVER = {
    "judge": {"responses_api_models": {"openai_model": {"host": EVERYWHERE, "port": 7}}}
}


@pytest.fixture
def lab(tmp_path: Path) -> GymLab:
    return GymLab(tmp_path)


def start(config: VibenchResourcesServerConfig, blocks: dict[str, Any] | None = None) -> str:
    """The message with which a server refuses to start."""
    server = VibenchResourcesServer(config=config, server_client=server_client(blocks))
    with pytest.raises(SystemExit) as stopped:
        server.setup_webserver()
    return str(stopped.value)


def test_no_vibench_root(lab: GymLab) -> None:
    message = start(lab.config(vibench_repo_root="/nonexistent/set-VIBENCH_REPO_ROOT"))

    assert message.startswith("vibench_resources_server cannot start: ")
    assert "set VIBENCH_REPO_ROOT to a checkout" in message


def test_a_root_without_tasks(lab: GymLab, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()

    assert "holds no tasks" in start(lab.config(vibench_repo_root=str(tmp_path / "nothing")))


def test_a_root_is_optional(lab: GymLab) -> None:
    assert vibench_root(lab.config(vibench_repo_root=None)) is None
    assert vibench_root(lab.config(vibench_repo_root="")) is None


def test_no_chromium(lab: GymLab) -> None:
    config = lab.config(browser={"executable": "/nonexistent/chromium"})

    with pytest.raises(PrerequisiteMissing, match=r"Chromium: .*To fix it: .+"):
        check_host(config)


def test_a_stack_that_there_is_not(lab: GymLab) -> None:
    assert "stack.kind is one of local, compose" in start(lab.config(stack={"kind": "podman"}))


@pytest.mark.parametrize("kind", ["local", "compose"])
def test_apps_are_given_a_model_on_either_stack(
    lab: GymLab, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("APP_KEY", "sk-of-the-operator-4711")
    given = app_model(lab.config(app_key_env="APP_KEY", stack={"kind": kind}))
    assert given is not None
    assert given.api_key_env == "APP_KEY"


@pytest.mark.parametrize("setting", ["artifact_dir", "results_dir"])
def test_a_folder_that_depends_on_where_a_server_runs(lab: GymLab, setting: str) -> None:
    assert "is not absolute" in start(lab.config(**{setting: "results"}))


def test_a_folder_that_cannot_be_made(lab: GymLab, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    assert "cannot be used" in start(lab.config(artifact_dir=str(tmp_path / "file/store")))


def test_results_stand_beside_the_store_unless_said_otherwise(lab: GymLab, tmp_path: Path) -> None:
    _, run = folders(lab.config(results_dir=None))

    assert run == tmp_path / "vibench-results/vibench_resources_server"


@pytest.mark.parametrize(
    "settings",
    [
        {"replay": False},
        {"replay": True, "grader_base_url": "http://127.0.0.1:1/v1"},
        {"replay": False, "grader_base_url": "http://h/v1", "grader_model_server": "judge"},
    ],
)
def test_not_exactly_one_model(lab: GymLab, settings: dict[str, Any]) -> None:
    message = start(lab.config(**settings), MODEL_SERVER)

    assert "the graders need one model" in message
    assert "set grader_model_server" in message


def test_a_key_that_is_missing(lab: GymLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIBENCH_GYM_API_KEY", raising=False)

    assert "VIBENCH_GYM_API_KEY" in start(
        lab.config(replay=False, grader_base_url="https://models.example/v1")
    )


def test_a_key_may_stand_in_the_operators_file(
    lab: GymLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "")
    env = tmp_path / "keys.env"
    env.write_text("OTHER=1\nexport OWN_KEY='sekrit'\n", encoding="utf-8")
    config = lab.config(
        replay=False,
        grader_base_url="https://models.example/v1",
        grader_api_key_env="OWN_KEY",
        vibench_env_file=str(env),
    )

    assert grader_models(config, {}) is not None
    monkeypatch.setenv("OWN_KEY", "")
    with pytest.raises(ConfigError, match="cannot be read"):
        grader_models(config.model_copy(update={"vibench_env_file": "/nonexistent"}), {})


@pytest.mark.parametrize("name", ["nobody", "vibench_opencode_agent"])
def test_a_model_server_that_is_none(lab: GymLab, name: str) -> None:
    blocks = {**MODEL_SERVER, "vibench_opencode_agent": {"responses_api_agents": {"a": {}}}}

    assert "no responses_api_models server" in start(
        lab.config(replay=False, grader_model_server=name), blocks
    )


async def test_a_model_server_is_called_where_it_listens(lab: GymLab) -> None:
    config = lab.config(replay=False, grader_model_server="judge", seeder_model_name="seeder")
    task = load_task(bundled_tasks_dir() / "pantry")
    models = grader_models(config, server_client(MODEL_SERVER).global_config_dict)(task)

    assert isinstance(models, EndpointModels)
    qa, seeder = models.model(task.plans[0], "qa"), models.model(task.plans[0], "seeder")
    assert isinstance(qa, OpenAIChatModel)
    assert "'127.0.0.1:7'" in repr(qa)
    assert (qa.name, seeder.name) == ("grader", "seeder")
    for model in (qa, seeder):
        await model.aclose()


def test_replay_plays_the_tasks_scripts(lab: GymLab) -> None:
    task = load_task(bundled_tasks_dir() / "pantry")

    assert isinstance(grader_models(lab.config(), {})(task), ReplayModels)


def test_concurrency_is_the_hosts_and_the_shipped_key_means_it_too(lab: GymLab) -> None:
    assert lab.config().slots == 2
    assert lab.config(max_concurrent_test_plans=5).slots == 5
    assert lab.config(max_concurrent_test_plans=5, grading_concurrency=3).slots == 3
    assert lab.config(evaluation_timeout_s=60).grader_config.model_time_per_plan_s == 60
    assert lab.config(grading={"retries": 0}).grader_config.retries == 0


@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.browser
def test_a_host_that_has_everything_starts(lab: GymLab, tmp_path: Path) -> None:
    config = lab.config(grading_slots_dir=str(tmp_path / "locks/slots"))
    server = VibenchResourcesServer(config=config, server_client=server_client())

    routes = {getattr(route, "path", "") for route in server.setup_webserver().routes}

    assert {"/seed_session", "/verify", "/aggregate_metrics", "/reverify_mode"} <= routes
