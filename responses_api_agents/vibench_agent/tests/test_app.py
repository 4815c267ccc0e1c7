# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What `gym env test` runs: the server's file gives the agent, and its routes are NeMo Gym's."""

from pathlib import Path

from nemo_gym.base_responses_api_agent import SimpleResponsesAPIAgent

from vibench_gym.gym.agent.config import VibenchAgentConfig
from vibench_gym.gym.agent.server import VibenchAgent

APP = Path(__file__).resolve().parent.parent / "app.py"


def test_the_file_starts_the_agent_and_nothing_else() -> None:
    text = APP.read_text(encoding="utf-8")

    assert "VibenchAgent.run_webserver()" in text
    assert len(text.splitlines()) <= 20


def test_it_stands_on_the_public_base_class_alone() -> None:
    bases = [base.__module__ for base in VibenchAgent.__mro__[1:]]

    assert VibenchAgent.__bases__ == (SimpleResponsesAPIAgent,)
    assert not any(name.startswith("responses_api_agents") for name in bases)


def test_settings_of_the_shipped_agent_are_taken() -> None:
    config = VibenchAgentConfig.model_validate(
        {
            "name": "agent",
            "host": "127.0.0.1",
            "port": 1,
            "entrypoint": "app.py",
            "num_workers": 4,
            "resources_server": {"type": "resources_servers", "name": "vibench_resources_server"},
            "model_server": {"type": "responses_api_models", "name": "policy_model"},
            "build_image": "app-bench-base:latest",
            "app_workdir": "/app",
            "artifact_dir": "/nowhere",
            "harvest_timeout_s": 900,
            "debug": False,
            "opencode_max_context_window": 262144,
            "remote_opencode_install_script_path": None,
            "remote_opencode_binary_path": None,
            "opencode_config": {"permission": {"bash": {"*": "allow"}}},
            "sandbox_provider": "sandbox",
            "sandbox_config": {"ttl_s": 14400, "resources": {"cpu": 4}, "metadata": {"a": "b"}},
            "sandbox_timeout": 5400.0,
        }
    )

    assert config.sandbox_config.resources == {"cpu": 4}
