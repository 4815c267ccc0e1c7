# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A collection whose agent server is killed, and that is resumed: nothing lost, nothing made up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.gym_servers.command_line import gym_servers, marked_processes, until_gone
from support.gym_servers.readme import ReadmeRun
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.demo import policy_endpoint
from vibench_gym.gym.install_paths import gym_root, one_venv
from vibench_gym.gym.rows.rows import row

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.gym, pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]
REPO = Path(__file__).resolve().parents[2]
RUN_TIMEOUT_S = 300


def two_rows(folder: Path) -> Path:
    """One rollout that is over soon, and one in which the agent is killed."""
    rows = []
    for policy, app in (("empty", "herbarium"), ("good", "pantry")):
        given = row(bundled_tasks_dir() / app, "mvp")
        given["test_plans"] = given["test_plans"][:1]
        given["responses_create_params"]["input"][0]["content"] += f"\n\npolicy: {policy}\n"
        rows.append(given)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def agent_pid(mark: str) -> int:
    """The process that runs `app.py` of the agent, by the folder of its virtualenv."""
    (found,) = (
        pid
        for pid, line in marked_processes(mark).items()
        if "responses_api_agents/vibench_agent/.venv/bin/python" in line and "app.py" in line
    )
    return found


async def collect(
    folder: Path, env: Mapping[str, str], *arguments: str
) -> asyncio.subprocess.Process:
    log = (folder / "eval.log").open("ab")
    try:
        return await asyncio.create_subprocess_exec(
            # In the background a shell lets it ignore what it is stopped with below.
            *("env", "--default-signal=INT"),
            *("gym", "eval", "run", "--no-serve", "--agent", "vibench_opencode_agent"),
            *("--input", str(folder / "rows.jsonl"), "--output", "results/rollouts.jsonl"),
            *("--concurrency", "1", "+route_failures_to_sidecar=true", *arguments),
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    finally:
        log.close()


def stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_a_killed_agent_costs_an_attempt_and_no_row(tmp_path: Path) -> None:
    two_rows(tmp_path)
    results, mark = tmp_path / "results", str(tmp_path)
    readme = ReadmeRun(REPO / "README.md", tmp_path, Path(sys.executable).parent)
    env, port = readme.env, readme.head_port
    head = f"+head_server.port={port}"
    async with AsyncExitStack() as running:
        url = await running.enter_async_context(policy_endpoint(tmp_path / "policy.log"))
        start = (
            f"gym env start --search-dir {gym_root()} --config {one_venv(tmp_path / 'venvs')} "
            "--resources-server vibench --model-type openai_model --model good "
            f"--model-url {url} --model-api-key none {head}"
        )
        with ExitStack() as first:
            first.enter_context(gym_servers(start, tmp_path, env, tmp_path / "start1.log", port))
            running_eval = await collect(tmp_path, env, head)
            first.callback(stop, running_eval)
            async with asyncio.timeout(RUN_TIMEOUT_S):
                while not read(results / "rollouts.jsonl"):
                    assert running_eval.returncode is None, (tmp_path / "eval.log").read_text()
                    await asyncio.sleep(0.2)
                await asyncio.sleep(2)
                os.kill(agent_pid(mark), signal.SIGKILL)
                # NeMo Gym asks a server that is gone again and again: its operator has to stop it.
                await asyncio.sleep(5)
                running_eval.send_signal(signal.SIGINT)
                await running_eval.wait()
        assert await asyncio.to_thread(until_gone, mark) == {}
        (kept,) = read(results / "rollouts.jsonl")
        assert not [one for one in read(results / "rollouts_failures.jsonl") if "reward" in one]

        with gym_servers(start, tmp_path, env, tmp_path / "start2.log", port):
            resumed = await collect(tmp_path, env, head, "--resume")
            running.callback(stop, resumed)
            async with asyncio.timeout(RUN_TIMEOUT_S):
                assert await resumed.wait() == 0, (tmp_path / "eval.log").read_text()[-4000:]

    assert kept["app"] == "herbarium"
    done = {one["app"]: one for one in read(results / "rollouts.jsonl")}
    assert done["herbarium"] == kept
    assert (done["pantry"]["reward"], done["pantry"]["mask_sample"]) == (1.0, False)
    assert len(read(results / "rollouts.jsonl")) == 2
