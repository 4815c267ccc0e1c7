# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The resources server and what surrounds it fail: rows are masked, or graded once it is mended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.faults.endings import Ending
from support.gym_servers.in_process import GymLab, make_verify_body, until
from vibench_gym.core import durable, record_files
from vibench_gym.core.errors import CassetteMiss

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.faults.endings import Tell

pytestmark = pytest.mark.gym


@pytest.fixture
def lab(tmp_path: Path) -> GymLab:
    return GymLab(tmp_path)


@contextlib.asynccontextmanager
async def started(lab: GymLab) -> AsyncIterator[httpx.AsyncClient]:
    """The server, from its start to its end."""
    app = lab.server().setup_webserver()
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://gym") as client:
            yield client


async def row(client: httpx.AsyncClient, body: dict[str, Any]) -> Ending:
    """What a call of `/verify` comes to."""
    response = await client.post("/verify", json=body)
    assert response.status_code == 200, response.text
    got = response.json()
    status = got["results"][0]["status"]
    if got["mask_sample"]:
        return Ending("masked", status, got["failure_kind"], why=got["failure_reason"])
    return Ending("scored", status, got["failure_kind"] or "", got["reward"], 1)


async def test_a_server_that_is_restarted_while_it_grades_answers_as_if_it_had_not(
    lab: GymLab, tell: Tell
) -> None:
    lab.gate.clear()
    body = make_verify_body(lab.stored_app(), rollout_id="one")
    async with started(lab) as client:
        call = asyncio.create_task(row(client, body))
        await until(lambda: lab.begun > 0)
    # However the server lets go of it: the middleware beneath has no answer to give.
    with contextlib.suppress(asyncio.CancelledError, httpx.HTTPError, RuntimeError):
        await call
    assert not list((lab.root / "results").rglob("plan.json"))
    lab.gate.set()
    async with started(lab) as client:
        end = await row(client, body)
    tell("server restarted while it grades", "server", "once", end)
    assert (end.verdict, end.reward) == ("scored", 1.0)


async def test_an_artifact_that_is_not_in_the_store_masks(lab: GymLab, tell: Tell) -> None:
    async with started(lab) as client:
        end = await row(client, make_verify_body("0" * 64))
    tell("artifact is not in the store", "store", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "vibench:artifact_not_in_store")


async def test_a_task_that_is_gone_masks(lab: GymLab, tell: Tell) -> None:
    body = make_verify_body(lab.stored_app())
    async with started(lab) as client:
        shutil.rmtree(lab.root / "vibench")
        end = await row(client, body)
    tell("task is gone", "server", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "verifier_error")


async def test_a_plan_that_cannot_be_read_masks(lab: GymLab, tell: Tell) -> None:
    body = make_verify_body(lab.stored_app())
    async with started(lab) as client:
        (lab.root / "vibench/prds/shop/tests/mvp/test2.txt").write_text("<test_plan>")
        end = await row(client, body)
    tell("plan is damaged", "server", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "verifier_error")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no script to replay", CassetteMiss("no script")),
        ("a defect of the grader", RuntimeError("a defect")),
        ("out of memory in the server", MemoryError()),
    ],
)
async def test_what_has_to_be_mended_masks_until_it_is(
    lab: GymLab, tell: Tell, name: str, fault: Exception
) -> None:
    good = lab.qa

    def broken(_plan: object) -> Any:
        raise fault

    body = make_verify_body(lab.stored_app(), rollout_id="one")
    async with started(lab) as client:
        lab.qa = broken
        end = await row(client, body)
        lab.qa = good
        mended = await row(client, body)
    tell(name, "server", "for good", end)
    tell(name, "server", "once", mended)
    assert (end.verdict, mended.verdict) == ("masked", "scored"), (end, mended)
    assert mended.reward == 1.0


async def test_results_that_cannot_be_written_mask_until_they_can(
    lab: GymLab, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = durable.write_atomic

    def full(path: Path, data: str | bytes) -> None:
        if path.name == "plan.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, data)

    body = make_verify_body(lab.stored_app(), rollout_id="one")
    async with started(lab) as client:
        with monkeypatch.context() as patch:
            patch.setattr(record_files, "write_atomic", full)
            end = await row(client, body)
        mended = await row(client, body)
    tell("results cannot be written", "store", "for good", end)
    tell("results cannot be written", "store", "once", mended)
    assert (end.verdict, end.kind) == ("masked", "verifier_error")
    assert (mended.verdict, mended.reward) == ("scored", 1.0)


@pytest.mark.parametrize("file", ["plan.json", "scorecard.json", "rollout.json", "plan.txt"])
async def test_a_record_that_is_cut_is_measured_again(lab: GymLab, tell: Tell, file: str) -> None:
    body = make_verify_body(lab.stored_app(), rollout_id="one")
    async with started(lab) as client:
        await row(client, body)
        for answer in (lab.root / "results").rglob(".answers/*.json"):
            answer.unlink()
        for record in (lab.root / "results").rglob(file):
            record.write_bytes(record.read_bytes()[:40])
        end = await row(client, body)
    tell(f"{file} on disk is cut", "store", "once", end)
    assert (end.verdict, end.reward) == ("scored", 1.0)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("no_model_call", "vibench:no_model_call"),
        ("unreachable_model", "transport_unreachable"),
        ("box_failed", "provider_unavailable"),
        ("harvest_failed", "vibench:harvest_failed"),
    ],
)
async def test_a_build_that_says_nothing_of_the_policy_masks(
    lab: GymLab, tell: Tell, status: str, kind: str
) -> None:
    async with started(lab) as client:
        end = await row(client, make_verify_body(lab.stored_app(), harness_status=status))
    tell(f"harness ends with {status}", "server", "for good", end)
    assert (end.verdict, end.kind) == ("masked", kind)


@pytest.mark.parametrize("what", ["nothing", "empty", "timeout", "harness_failed"])
async def test_what_a_builder_leaves_behind_is_scored(lab: GymLab, tell: Tell, what: str) -> None:
    left = {"nothing": None, "empty": lab.stored_empty_app()}
    if what in left:
        body = make_verify_body(left[what])
    else:
        body = make_verify_body(lab.stored_app(), harness_status=what)
    async with started(lab) as client:
        end = await row(client, body)
    tell(
        f"leaves {what} behind" if what in left else f"ends with {what}",
        "server",
        "sabotage",
        end,
    )
    assert (end.verdict, end.reward) == ("scored", 0.0 if what in left else 1.0)
