# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whole rollouts through the servers, when things go wrong and when many go at once."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.gym_servers.command_line import Watch
from support.gym_servers.in_process import until
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.demo import policy_endpoint
from vibench_gym.gym.rows.rows import row
from vibench_gym.gym.server_processes import AGENT_NAME, MODEL_NAME, GymServers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.gym, pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]
REPLAY = {"replay": True, "grading_concurrency": 4}
GIB = 2**30


def pantry(policy: str, name: str, *, plans: int = 1) -> dict[str, Any]:
    """A row for one policy, called `name`, with the first plans only."""
    given = row(bundled_tasks_dir() / "pantry", "mvp")
    given["test_plans"] = given["test_plans"][:plans]
    (said,) = given["responses_create_params"]["input"]
    said["content"] += f"\n\npolicy: {policy}\n"
    return {**given, "_ng_rollout_id": name}


def roots(servers: GymServers) -> list[int]:
    return [process.pid for process in servers.processes.values()]


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_every_bad_end_has_a_row_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # it is not asked for this host
    agent = {"sandbox_timeout": 90, "model_patience_s": 5}
    async with (
        policy_endpoint(tmp_path / "policy.log") as url,
        GymServers(tmp_path, url, resources=REPLAY, agent=agent) as servers,
    ):
        with Watch(roots(servers)) as watch:
            slow, failing = await asyncio.gather(
                servers.run(pantry("slow", "slow"), timeout_s=400),
                servers.run(pantry("failing", "failing"), timeout_s=400),
            )
            await servers.stop(MODEL_NAME, signal.SIGKILL)
            dead = await servers.run(pantry("good", "dead"), timeout_s=400)
            await servers.start(MODEL_NAME)
            await servers.ready(MODEL_NAME)

            cut = asyncio.create_task(servers.run(pantry("slow", "cut"), timeout_s=400))
            before = set(watch.alive())
            await until(lambda: bool(watch.alive() - before))
            await asyncio.sleep(3)
            await servers.stop(AGENT_NAME, signal.SIGKILL)
            with pytest.raises(httpx.HTTPError):
                await cut
            await servers.start(AGENT_NAME)
            await servers.ready(AGENT_NAME)
            again = await servers.run(pantry("good", "cut"), timeout_s=400)
    left = await asyncio.to_thread(watch.until_gone)

    assert (slow["harness_status"], slow["agent_timeout"]) == ("timeout", True)
    assert (slow["mask_sample"], slow["failure_kind"]) == (False, "agent_timeout")
    assert slow["reward"] == 1.0  # what it had built by then was whole
    assert slow["response"]["output"]
    for masked in (failing, dead):
        assert (masked["mask_sample"], masked["reward"]) == (True, 0.0)
        assert masked["failure_kind"] == "transport_unreachable"
        assert masked["failure_reason"]
        assert masked["test_plans_graded"] == 0
    assert (again["reward"], again["mask_sample"]) == (1.0, False)
    assert left == set()


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_eight_at_once_do_not_meet(tmp_path: Path) -> None:
    policies = ["good", "broken", "empty", "good", "broken", "empty", "good", "broken"]
    async with (
        policy_endpoint(tmp_path / "policy.log") as url,
        GymServers(tmp_path, url, resources=REPLAY, agent={"concurrency": 4}) as servers,
    ):
        with Watch(roots(servers)) as watch:
            started = time.monotonic()
            alone = await servers.run(pantry("good", "alone"), timeout_s=400)
            alone_s = time.monotonic() - started
            started = time.monotonic()
            rows = await asyncio.gather(
                *(
                    servers.run(pantry(policy, f"r{number}"), timeout_s=800)
                    for number, policy in enumerate(policies)
                )
            )
            each_s = (time.monotonic() - started) / len(rows)
    left = await asyncio.to_thread(watch.until_gone)
    print(  # noqa: T201 (the figures)
        f"{alone_s:.1f} s alone, {each_s:.1f} s each of {len(rows)} at concurrency 4, "
        f"peak {watch.peak_rss_bytes / GIB:.2f} GiB resident"
    )

    assert alone["reward"] == 1.0
    by_policy = {
        policy: {one["reward"] for one, name in zip(rows, policies, strict=True) if name == policy}
        for policy in policies
    }
    assert by_policy["good"] == {1.0}
    assert by_policy["empty"] == {0.0}
    (broken,) = by_policy["broken"]
    assert 0.0 < broken < 1.0
    digests = {(name, one["artifact_sha256"]) for one, name in zip(rows, policies, strict=True)}
    assert len(digests) == 3  # the same app of the same policy, byte for byte
    assert len({one["results_path"] for one in rows}) == len(rows)
    assert watch.peak_rss_bytes < 8 * GIB
    assert left == set()
