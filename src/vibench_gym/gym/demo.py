# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Runs whole rollouts through NeMo Gym's servers, with scripted policies instead of a model.

Everything but the policies is what a training run has: the Gym's model server, the agent, OpenCode
in a build box, the artifact store, the resources server and its graders (which play scripts). The
policies' endpoint is a program of its own, as a real one would be.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.rows.rows import row
from vibench_gym.gym.server_processes import RESOURCES_NAME, GymServers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

POLICIES = {"policy-good": "good", "policy-forgetful": "broken", "policy-idle": "empty"}
"""Label of a rollout, policy of `vibench_gym.testing.policy_server` that plays in it."""
ROLLOUT_TIMEOUT_S = 1200.0
HARNESS_TIMEOUT_S = 300.0
START_TIMEOUT_S = 60.0
CONCURRENCY = 4
"""Plans at once: most of a plan is waiting for pages, so two cores are enough for four."""


@dataclass(frozen=True, slots=True)
class DemoRollout:
    """One rollout of the demo."""

    label: str
    row: Mapping[str, Any]
    """What the agent's `/run` answered."""


async def run_rollouts(
    out: Path, task: str, progress: Callable[[str], None]
) -> tuple[RunDir, list[DemoRollout]]:
    """Let every policy build one bundled task; rows go to `out/rollouts.jsonl` as well.

    Raises:
        OperatorFault: this machine lacks something.
    """
    out = await asyncio.to_thread(out.resolve)
    async with policy_endpoint(out / "policy.log") as url:
        progress("starting the Gym's servers")
        settings = {"replay": True, "grading_concurrency": CONCURRENCY}
        agent = {"sandbox_timeout": HARNESS_TIMEOUT_S}
        async with GymServers(out, url, resources=settings, agent=agent) as servers:
            rollouts = await asyncio.gather(
                *(_one(servers, label, task, progress) for label in POLICIES)
            )
    lines = "".join(json.dumps(one.row, ensure_ascii=False) + "\n" for one in rollouts)
    await asyncio.to_thread((out / "rollouts.jsonl").write_text, lines, "utf-8")
    return RunDir(out / RESOURCES_NAME), list(rollouts)


async def _one(
    servers: GymServers, label: str, task: str, progress: Callable[[str], None]
) -> DemoRollout:
    given = row(bundled_tasks_dir() / task, "mvp")
    (said,) = given["responses_create_params"]["input"]
    said["content"] += f"\n\npolicy: {POLICIES[label]}\n"
    progress(f"{label}: OpenCode builds in a box, then the graders look")
    try:
        answer = await servers.run({**given, "_ng_rollout_id": label}, timeout_s=ROLLOUT_TIMEOUT_S)
    except httpx.HTTPError as error:
        raise PrerequisiteMissing(
            f"the rollout {label!r} failed: {type(error).__name__}: {error}; logs in "
            f"{servers.folder}",
            "vibench-gym doctor",
        ) from error
    return DemoRollout(label, answer)


@contextlib.asynccontextmanager
async def policy_endpoint(log_path: Path, *, default: str = "good") -> AsyncIterator[str]:
    """The scripted policies behind an OpenAI-compatible endpoint; its URL, with `/v1`.

    Raises:
        PrerequisiteMissing: it does not start.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vibench_gym.testing.policy_server"),
            *("--port", str(port), "--default", default, "--tied"),
            stdin=asyncio.subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        try:
            async with (
                asyncio.timeout(START_TIMEOUT_S),
                httpx.AsyncClient(timeout=5.0, trust_env=False) as client,
            ):
                while process.returncode is None:
                    with contextlib.suppress(httpx.TransportError):
                        await client.get(f"http://127.0.0.1:{port}/v1/models")
                        break
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pass
        if process.returncode is not None:
            raise PrerequisiteMissing(
                f"the policies' endpoint did not start; see {log_path}", "make setup"
            )
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if process.returncode is None:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 5)
        if process.returncode is None:
            process.kill()
            await process.wait()
