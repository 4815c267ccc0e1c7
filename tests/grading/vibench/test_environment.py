# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.docker.vibench_lab import KEY
from support.docker.vibench_stub import make_checkout
from vibench_gym.core.errors import ConfigError, PrerequisiteMissing
from vibench_gym.grading.vibench.checkout import BASE_IMAGE, Checkout, find_docker
from vibench_gym.grading.vibench.environment import GraderEnvironment, grader_environment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AGENT_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return Checkout.find(make_checkout(tmp_path / "checkout"))


def test_slots_are_filled(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-graders-own-key")
    monkeypatch.setenv("POLICY_API_KEY", "sk-the-policys-own-key")
    monkeypatch.setenv("UNRELATED", "value")
    found = grader_environment(checkout, "Sonnet_4.5")

    assert found["AGENT_LLM_API_KEY"] == found["AGENT_SEEDING_LLM_API_KEY"] == KEY
    assert found["AGENT_LLM_MODEL"] == "stub/Sonnet_4.5"
    assert found["OPENAI_API_KEY"] == ""
    assert not found.keys() & {"ANTHROPIC_API_KEY", "POLICY_API_KEY", "UNRELATED"}
    assert found["PATH"]


def test_the_builders_own_slot_stays(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("AGENT_LLM_MODEL", "mine")

    assert grader_environment(checkout, "Sonnet_4.5")["AGENT_LLM_MODEL"] == "mine"


def test_the_operators_file(checkout: Checkout, tmp_path: Path) -> None:
    path = tmp_path / "keys.env"
    path.write_text(f"# keys\nexport ANTHROPIC_API_KEY='{KEY}'\nnot a line\n", encoding="utf-8")

    assert grader_environment(checkout, "m", path)["AGENT_EVALUATION_LLM_API_KEY"] == KEY
    with pytest.raises(ConfigError, match="cannot be read"):
        grader_environment(checkout, "m", tmp_path / "none")


def test_a_key_that_is_missing_is_told_before_any_plan_runs(checkout: Checkout) -> None:
    with pytest.raises(ConfigError, match="lack AGENT_LLM_API_KEY, AGENT_SEEDING_LLM_API_KEY"):
        grader_environment(checkout, "Sonnet_4.5")


def test_an_env_creator_that_fails_does_not_tell_what_it_was_given(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(ConfigError) as failed:
        grader_environment(checkout, "broken")

    assert "env_creator" in str(failed.value)
    assert KEY not in str(failed.value)


@pytest.mark.parametrize("text", ["print('no module')", "def get_env_dict(model): return 3"])
def test_an_env_creator_that_answers_nothing(checkout: Checkout, text: str) -> None:
    (checkout.scripts / "env_creator.py").write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match="env_creator"):
        grader_environment(checkout, "m")


def test_what_is_printed_on_import_is_not_the_answer(checkout: Checkout) -> None:
    creator = checkout.scripts / "env_creator.py"
    noisy = f"import os\nos.environ['ANTHROPIC_API_KEY'] = '{KEY}'\nprint('hello')\n"
    creator.write_text(noisy + creator.read_text(encoding="utf-8"), encoding="utf-8")

    assert grader_environment(checkout, "m")["AGENT_SEEDING_LLM_API_KEY"] == KEY


def test_values_are_not_shown() -> None:
    values = {"AGENT_LLM_API_KEY": KEY, "AGENT_LLM_MODEL": "a/model-name", "N_TOKENS": "12"}
    found = GraderEnvironment({**values, "HTTPS_PROXY": "http://user:passw0rd@proxy:1"})

    assert KEY not in repr(found)
    assert set(found.secrets) == {KEY, "user:passw0rd"}
    assert found.clean(f"{KEY} a/model-name") == "[redacted] a/model-name"


def test_a_key_for_the_app() -> None:
    found = GraderEnvironment({"OPENAI_API_KEY": ""})

    assert found.for_app(None)["OPENAI_API_KEY"] == ""
    assert found.for_app("sk-app-0123456789")["OPENAI_API_KEY"] == "sk-app-0123456789"
    assert "sk-app-0123456789" in found.for_app("sk-app-0123456789").secrets


def test_a_checkout_has_to_be_whole(tmp_path: Path) -> None:
    (tmp_path / "prds").mkdir()

    with pytest.raises(ConfigError, match=r"run-seed\.py.*whole checkout"):
        Checkout.find(tmp_path)


def test_the_checkouts_own_interpreter(checkout: Checkout, tmp_path: Path) -> None:
    own = checkout.root / ".venv/bin/python"
    own.parent.mkdir(parents=True)
    own.symlink_to(checkout.python)

    assert Checkout.find(checkout.root).python == own
    with pytest.raises(ConfigError, match="no program"):
        Checkout.find(checkout.root, tmp_path / "none")


def fake(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_without_docker(checkout: Checkout, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match=r"no 'docker' on PATH.*install Docker"):
        find_docker(checkout, str(tmp_path / "empty"))


def test_without_an_engine(checkout: Checkout, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "docker", "exit 1")

    with pytest.raises(PrerequisiteMissing, match="none answers"):
        find_docker(checkout, str(tmp_path / "bin"))


def test_without_compose(checkout: Checkout, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "docker", '[ "$1" = info ]')

    with pytest.raises(PrerequisiteMissing, match="neither 'docker compose' nor"):
        find_docker(checkout, str(tmp_path / "bin"))


@pytest.mark.parametrize(("version", "first"), [("1.29.2", True), ("v2.30.1", False)])
def test_compose_by_its_old_name(
    checkout: Checkout, tmp_path: Path, version: str, *, first: bool
) -> None:
    fake(tmp_path / "bin", "docker", '[ "$1" = info ]')
    fake(tmp_path / "bin", "docker-compose", f"echo {version}")
    found = find_docker(checkout, str(tmp_path / "bin"))

    assert (found.compose, found.compose_1) == ((str(tmp_path / "bin/docker-compose"),), first)


def test_compose_as_a_plugin(checkout: Checkout, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "docker", "exit 0")
    found = find_docker(checkout, str(tmp_path / "bin"))

    assert (found.compose, found.compose_1) == ((found.docker, "compose"), False)


def test_without_the_base_image(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.scripts.parent / "docker").mkdir()
    (checkout.scripts.parent / "docker/Dockerfile.base").write_text("", encoding="utf-8")
    fake(tmp_path / "bin", "docker", '[ "$1" != image ]')

    with pytest.raises(PrerequisiteMissing, match=f"{BASE_IMAGE}.*build it once"):
        find_docker(checkout, str(tmp_path / "bin"))
