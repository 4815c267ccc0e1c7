# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where NeMo Gym finds our servers and their virtualenv."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from vibench_gym.gym.install_paths import SERVERS, gym_root, one_venv, overruled, servers
from vibench_gym.gym.requirements import runs_here


def test_the_root_holds_both_servers_as_nemo_gym_wants_them() -> None:
    for server in SERVERS[:2]:
        folder = gym_root() / server
        assert (folder / "app.py").is_file()
        assert (folder / "requirements.txt").is_file()
        assert not (folder.parent / "__init__.py").exists()  # it would hide NeMo Gym's own


def test_every_server_gets_this_virtualenv(tmp_path: Path) -> None:
    config = one_venv(tmp_path / "venvs")
    said = yaml.safe_load(config.read_text(encoding="utf-8"))

    assert said == {"skip_venv_if_present": True, "uv_venv_dir": str(tmp_path / "venvs")}
    assert set(SERVERS) < set(servers())
    for server in servers():
        assert (tmp_path / "venvs" / server / ".venv").readlink() == Path(sys.prefix)


def test_again_changes_nothing_and_mends_what_points_elsewhere(tmp_path: Path) -> None:
    config = one_venv(tmp_path)
    written = config.stat().st_mtime_ns
    wrong = tmp_path / SERVERS[0] / ".venv"
    wrong.unlink()
    wrong.symlink_to(tmp_path)

    assert one_venv(tmp_path) == config
    assert config.stat().st_mtime_ns == written
    assert wrong.readlink() == Path(sys.prefix)


# --- NeMo Gym's own servers


@pytest.mark.gym
@pytest.mark.timeout(600)
def test_every_model_server_that_is_linked_can_be_imported_here() -> None:
    linked = [name for name in servers() if name.startswith("responses_api_models/")]
    assert {"responses_api_models/openai_model", "responses_api_models/vllm_model"} <= set(linked)
    # It runs the model itself, with what no installation of ours brings.
    assert "responses_api_models/local_vllm_model" not in linked
    lines = "\n".join(f"import {name.replace('/', '.')}.app" for name in linked)
    command = [sys.executable, "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def server(root: Path, name: str, file: str, text: str) -> Path:
    folder = root / "responses_api_models" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        (["-e nemo-gym[dev] @ ../../"], True),
        (["nemo-gym[dev]==0.0.1"], True),
        (["# pydantic", "", "pydantic>=2  # and why"], True),
        (["pydantic>=999"], False),
        (["no-such-package-as-this"], False),
        (['no-such-package-as-this; python_version < "3"'], True),
        (["pydantic @ git+https://example.invalid/pydantic"], False),
        (["--extra-index-url https://example.invalid/simple"], False),
    ],
)
def test_a_server_is_linked_by_what_it_requires(
    tmp_path: Path, wanted: list[str], *, runs: bool
) -> None:
    listed = server(tmp_path, "listed", "requirements.txt", "\n".join(wanted))
    plain = [line.partition("  #")[0] for line in wanted if line and line[0] not in "#-"]
    project = server(tmp_path, "project", "pyproject.toml", f"[project]\ndependencies = {plain}")

    assert runs_here(listed) is runs
    assert runs_here(project) is (runs or not plain)
    if runs:
        names = {f"responses_api_models/{name}" for name in ("listed", "project")}
        assert set(servers(tmp_path)) == {*SERVERS, *names}


def test_what_cannot_be_known_is_left_to_nemo_gym(tmp_path: Path) -> None:
    made_up = '[project]\ndynamic = ["dependencies"]\n'

    assert not runs_here(server(tmp_path, "dynamic", "pyproject.toml", made_up))
    assert not runs_here(server(tmp_path, "broken", "pyproject.toml", "[project"))
    assert not runs_here(tmp_path)
    assert servers(tmp_path) == SERVERS


# --- env.yaml


@pytest.fixture
def search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that NeMo Gym searches before all others."""
    place = tmp_path / "searched"
    place.mkdir()
    monkeypatch.setenv("NEMO_GYM_EXTRA_ROOTS", str(place))
    return place


def test_an_env_yaml_that_overrules_is_named_with_what_wins(
    tmp_path: Path, search_path: Path
) -> None:
    config = one_venv(tmp_path / "my venvs")
    env = search_path / "env.yaml"

    env.write_text("uv_venv_dir: /elsewhere\nskip_venv_if_present: false\n", encoding="utf-8")
    said = overruled(config)
    assert str(env) in said
    assert "uv_venv_dir: /elsewhere" in said
    assert f"'+uv_venv_dir={tmp_path / 'my venvs'}'" in said
    assert "+skip_venv_if_present=true" in said

    env.write_text("uv_venv_dir: 7\n", encoding="utf-8")
    assert "uv_venv_dir: 7" in overruled(config)
    env.write_text("uv_venv_dir: [\n", encoding="utf-8")
    assert "no YAML" in overruled(config)


@pytest.mark.parametrize("text", ["", "- 1\n", "policy_api_key: x\n", "{config}"])
def test_an_env_yaml_that_says_nothing_else_is_let_be(
    tmp_path: Path, search_path: Path, text: str
) -> None:
    config = one_venv(tmp_path / "venvs")
    text = text.replace("{config}", config.read_text(encoding="utf-8"))
    (search_path / "env.yaml").write_text(text, encoding="utf-8")

    assert overruled(config) == ""


@pytest.mark.gym
def test_nemo_gym_merges_it_as_we_say(tmp_path: Path, search_path: Path) -> None:
    from nemo_gym.global_config import (  # noqa: PLC0415 (only this test needs nemo-gym)
        GlobalConfigDictParser,
        GlobalConfigDictParserConfig,
    )
    from omegaconf import OmegaConf  # noqa: PLC0415 (as above)

    config = one_venv(tmp_path / "venvs")
    (search_path / "env.yaml").write_text("uv_venv_dir: /elsewhere\n", encoding="utf-8")

    def merged(**given: str) -> str:
        parsed = GlobalConfigDictParser().parse(
            GlobalConfigDictParserConfig(
                initial_global_config_dict=OmegaConf.create(
                    {"config_paths": [str(config)], **given}
                ),
                skip_load_from_cli=True,
            )
        )
        return str(parsed["uv_venv_dir"])

    assert merged() == "/elsewhere"
    assert merged(uv_venv_dir=str(tmp_path / "venvs")) == str(tmp_path / "venvs")
