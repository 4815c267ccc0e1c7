# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where models come from: scripts are checked before anything is set up, keys as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.grading import make_plan, make_task
from vibench_gym.core.config import ModelConfig
from vibench_gym.core.errors import CassetteMiss, ConfigError, TaskInvalid
from vibench_gym.core.tasks.task import Task, bundled_tasks_dir, list_bundled, load_task
from vibench_gym.grading.model_sources import EndpointModels, ReplayModels
from vibench_gym.llm.base import Message

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pantry() -> Task:
    return load_task(bundled_tasks_dir() / "pantry")


async def test_scripts_of_a_task_answer_over_http(pantry: Task) -> None:
    async with ReplayModels(pantry) as models:
        for plan in pantry.plans:
            model = models.model(plan, "qa")
            opening = [Message("user", "Today: 2026-11-29\nSTEP 1")]
            completion = await model.complete(opening)
            assert completion.message.tool_calls
            assert completion.needs_history
            await model.aclose()


async def test_one_server_serves_several_tasks() -> None:
    tasks = [load_task(path) for path in list_bundled()]
    async with ReplayModels(*tasks) as models:
        names = {models.model(plan, "qa").name for task in tasks for plan in task.plans}
    assert len(names) == sum(len(task.plans) for task in tasks)


async def test_a_plan_that_was_not_given_has_no_model(pantry: Task) -> None:
    async with ReplayModels(pantry) as models:
        with pytest.raises(CassetteMiss, match="no qa script"):
            models.model(make_plan("other"), "qa")
        unseeded = next(plan for plan in pantry.plans if not plan.needs_seeding)
        with pytest.raises(CassetteMiss, match="no seeder script"):
            models.model(unseeded, "seeder")


def test_every_missing_or_broken_script_is_named(tmp_path: Path) -> None:
    first = make_plan("test1")
    second = make_plan("test2", precondition="Three items are there.")
    task = make_task(first, second, root=tmp_path)
    folder = tmp_path / "replay" / "mvp"
    folder.mkdir(parents=True)
    (folder / "test1.qa.yaml").write_text("role: qa\nsteps: [{name: wrong, script: []}]\n")
    with pytest.raises(TaskInvalid) as caught:
        ReplayModels(task)
    text = str(caught.value)
    assert "test1.qa.yaml" in text
    assert "test2.qa.yaml:1: no script: tests/mvp/test2.txt cannot be replayed" in text
    assert "test2.seed.yaml" in text


async def test_a_missing_key_is_told_before_an_app_is_set_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    config = ModelConfig(name="m", base_url="https://llm.example/v1", api_key_env="NO_SUCH_KEY")
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        async with EndpointModels(config):
            pytest.fail("entered without a key")


async def test_the_seeder_may_be_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "k")
    qa, seeder = (
        ModelConfig(name=name, base_url="http://127.0.0.1:9/v1", api_key_env="SOME_KEY")
        for name in ("judge", "gardener")
    )
    plan = make_plan()
    async with EndpointModels(qa, seeder) as models:
        assert models.model(plan, "qa").name == "judge"
        assert models.model(plan, "seeder").name == "gardener"
    async with EndpointModels(qa) as models:
        assert models.model(plan, "seeder").name == "judge"
