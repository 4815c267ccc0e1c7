# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The policies' endpoint serves NeMo Gym's model server for vLLM, in training too."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import nemo_gym
import pytest
from omegaconf import OmegaConf

from support.gym_servers.command_line import free_port
from vibench_gym.testing.policies import Scripted, Turn, bash
from vibench_gym.testing.policy_server import PolicyServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.gym, pytest.mark.timeout(600)]
FOLDER = Path(nemo_gym.__file__).parents[1] / "responses_api_models/vllm_model"
READY_S = 240.0
ASK = {"model": "x", "messages": [{"role": "user", "content": "Build a shop."}]}


@contextlib.contextmanager
def model_server(base_url: str, log: Path, **settings: Any) -> Iterator[str]:
    """NeMo Gym's server for vLLM in a process of its own, ready; its URL."""
    port = free_port()
    block = {
        "entrypoint": "app.py",
        "host": "127.0.0.1",
        "port": port,
        "model": "NAME",
        "base_url": base_url,
        "api_key": "none",
        "uses_reasoning_parser": True,
        **settings,
    }
    config = {
        "policy_model": {"responses_api_models": {"vllm_model": block}},
        "head_server": {"host": "127.0.0.1", "port": 1},
        "dry_run": False,
    }
    env = {
        **os.environ,
        "NEMO_GYM_CONFIG_DICT": OmegaConf.to_yaml(OmegaConf.create(config)),
        "NEMO_GYM_CONFIG_PATH": "policy_model",
    }
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=FOLDER, env=env, stdout=said, stderr=said
        )
    try:
        until = time.monotonic() + READY_S
        while process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/livez", timeout=5, trust_env=False)
                break
            time.sleep(0.2)
        assert process.poll() is None, log.read_text()[-2000:]
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("training", [False, True])
async def test_it_answers_as_vllm_does(tmp_path: Path, *, training: bool) -> None:
    policies = {"policy": Scripted((Turn("I look.", (bash("ls"),)),))}
    async with PolicyServer(policies, "policy") as endpoint:
        log, ids = tmp_path / "model.log", {"return_token_id_information": training}
        with model_server(endpoint.base_url, log, **ids) as url:
            async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
                answer = await client.post(f"{url}/v1/chat/completions", json=ASK)

    assert answer.status_code == httpx.codes.OK, f"{answer.text}\n{log.read_text()[-2000:]}"
    said: dict[str, Any] = answer.json()
    (choice,) = said["choices"]
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "bash"
    made = choice["message"].get("generation_token_ids") or []
    assert len(made) == (said["usage"]["completion_tokens"] if training else 0)
