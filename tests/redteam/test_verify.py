# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to the resources server that want more than was measured, or to know more than a PRD.

HTTP, disk and rows are real; beneath the grader is nothing real, for it is not what is attacked.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.attacks.case import Case, redteam
from support.grading import agent, failing, make_app, passing
from support.gym_servers.in_process import GymLab, make_row, make_verify_body, pack, until
from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.server.verify_cache import VerifyCache
from vibench_gym.report.html import write_report
from vibench_gym.testing.fakes.model import FakeModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from support.attacks.case import Seen
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tool import ToolSpec
    from vibench_gym.llm.base import ChatModel, Completion, Message

pytestmark = pytest.mark.gym
HALF = 0.3
"""What the lab's second step costs when it fails."""


@pytest.fixture
def lab(tmp_path: Path) -> GymLab:
    """Its judge finds a failure in the second step of every plan."""
    return GymLab(tmp_path, qa=lambda plan: agent(failing(plan, "second")))


@asynccontextmanager
async def client_of(lab: GymLab) -> AsyncIterator[httpx.AsyncClient]:
    app = lab.server().setup_webserver()
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://gym") as client:
            yield client


async def verified(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post("/verify", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def measured(row: dict[str, Any]) -> tuple[Any, ...]:
    keys = ("reward", "reward_components", "mask_sample", "build_failed", "steps_passed")
    return tuple(row[key] for key in keys)


@redteam(
    "verify",
    gain="a perfect reward that stands in its own response, row or request",
    expected="the measured reward, whatever the request says",
    defences=["answer_wins"],
)
async def test_brings_its_own_reward(lab: GymLab, seen: Seen) -> None:
    forged = {
        "reward": 1e6,
        "reward_components": {"mvp.test1": 1.0, "mvp.test2": 1.0},
        "mask_sample": True,
        "failure_kind": "provider_unavailable",
        "build_failed": False,
        "steps_passed": 99,
        "test_plans_graded": 99,
        "results": [],
        "score": 1,
    }
    digest = lab.stored_app()
    async with client_of(lab) as client:
        honest = await verified(client, make_verify_body(digest, rollout_id="honest"))
        row = await verified(client, make_verify_body(digest, rollout_id="hostile", **forged))

    assert measured(row) == measured(honest)
    assert row["reward"] == pytest.approx(HALF)
    assert (row["failure_kind"], len(row["results"])) == (None, 2)
    seen(f"reward {row['reward']}, as its twin's")


@redteam(
    "verify",
    gain="a reward that is no number, or breaks whoever averages it",
    expected="refused, or answered with the measured reward",
    defences=["answer_wins"],
)
async def test_sends_numbers_that_are_none(lab: GymLab, seen: Seen) -> None:
    body = make_verify_body(lab.stored_app(), rollout_id="x")
    given: list[int] = []
    async with client_of(lab) as client:
        for text in ("NaN", "Infinity", "-Infinity", "1e999", '"1"', "true", "[1]"):
            raw = json.dumps(body)[:-1] + f', "reward": {text}}}'
            headers = {"content-type": "application/json"}
            response = await client.post("/verify", content=raw, headers=headers)
            given.append(response.status_code)
            if response.status_code == 200:
                assert response.json()["reward"] == pytest.approx(HALF)

    assert set(given) <= {200, 422}
    seen(f"statuses {sorted(set(given))}, never another reward")


@redteam(
    "verify",
    gain="have a file of the host graded or read, by a path in place of a digest",
    expected="422, nothing is looked up",
    defences=["artifact_by_digest"],
)
async def test_names_a_path_for_an_artifact(lab: GymLab, seen: Seen) -> None:
    lab.stored_app()
    (lab.root / "evil").write_bytes(b"x")
    paths = ["../evil", "/etc/passwd", "a" * 63 + "/", "A" * 64, "0" * 65, "..", "\0", "%2e%2e"]
    async with client_of(lab) as client:
        for path in paths:
            response = await client.post("/verify", json=make_verify_body(path))
            assert response.status_code == 422, path

    assert lab.begun == 0
    seen(f"422 for {len(paths)} paths")


@redteam(
    "verify",
    gain="the same, past the protocol: a key that leads out of the store",
    expected="the store knows no such artifact",
    defences=["store_by_digest"],
)
def test_asks_the_store_for_a_path(lab: GymLab, seen: Seen) -> None:
    lab.stored_app()
    beside = lab.store.root.parent / "evil"
    beside.write_bytes(b"x")
    found = []
    for key in ("../evil", f"../{lab.store.root.parent.name}/evil", str(beside), "/etc/passwd"):
        try:
            found.append(lab.store.path(key))
        except Exception as error:  # noqa: BLE001 (which one is asserted below)
            assert type(error).__name__ == "ArtifactRejected"  # noqa: PT017

    assert found == []
    seen("missing, four times")


@redteam(
    "verify",
    gain="roll the dice again: ask until the judge errs in its favour",
    expected="the first answer, for good; graded once",
    defences=["answers_kept"],
)
async def test_asks_until_it_likes_the_answer(lab: GymLab, seen: Seen) -> None:
    body = make_verify_body(lab.stored_app(), rollout_id="one")
    async with client_of(lab) as client:
        first = await verified(client, body)
        lab.qa = lambda plan: agent(passing(plan))
        again = [await verified(client, body) for _ in range(3)]
    async with client_of(lab) as client:
        restarted = await verified(client, body)

    assert first["reward"] == pytest.approx(HALF)
    assert all(measured(row) == measured(first) for row in (*again, restarted))
    assert lab.begun == 1
    seen("five calls and a restart, one grading, one answer")


class HeldBack(FakeModel):
    """A judge that begins and says nothing."""

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Completion:
        await asyncio.Event().wait()
        return await super().complete(messages, tools)


class Judges:
    """Judges by turn: the first plan fails before the first of them and passes before the next."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.hold_second = False

    def __call__(self, plan: TestPlan) -> ChatModel:
        self.asked.append(plan.id)
        if plan.id.endswith("test2"):
            return HeldBack([]) if self.hold_second else agent(passing(plan))
        again = self.asked.count(plan.id) > 1
        return agent(passing(plan) if again else failing(plan, "second"))


@asynccontextmanager
async def dropped(client: httpx.AsyncClient, body: dict[str, Any]) -> AsyncIterator[None]:
    """A call that is dropped at the end of the block, with all that it left to clean up."""
    call = asyncio.create_task(verified(client, body))
    try:
        yield
    finally:
        call.cancel()
        await asyncio.wait([call])


async def undisturbed(lab: GymLab, client: httpx.AsyncClient, digest: str) -> dict[str, Any]:
    lab.qa = Judges()
    row = await verified(client, make_verify_body(digest, rollout_id="honest"))
    assert row["reward"] == pytest.approx((HALF + 1) / 2)
    return row


async def measured_once(lab: GymLab, client: httpx.AsyncClient, body: dict[str, Any]) -> Judges:
    """Drop a call when the first plan is measured and the second is not; its judges."""
    lab.qa = judges = Judges()
    judges.hold_second = True
    async with dropped(client, body):
        await until(lambda: one_plan_measured(lab, judges))
    await until(lambda: lab.cleaned == lab.begun)
    judges.hold_second = False
    return judges


AS_ONCE = ["mvp.test1", "mvp.test2", "mvp.test2"]
"""The judges of a plan that is measured once, and of one that is begun again."""


def one_plan_measured(lab: GymLab, judges: Judges) -> bool:
    """Whether the first plan is on record for good, and the second one's judge has begun."""
    run = lab.root / "results/vibench_resources_server"
    records = {path.parent.name for path in run.rglob("*drop*/plans/*/plan.json")}
    return records == {"mvp.test1"} and len(judges.asked) == 2


@redteam(
    "verify",
    gain="drop a call that looks bad, and have a fresh judge",
    expected="what was measured before the call was dropped stays",
    defences=["measured_plans_kept"],
)
async def test_drops_a_call_and_asks_again(lab: GymLab, seen: Seen) -> None:
    digest = lab.stored_app()
    body = make_verify_body(digest, rollout_id="drop")
    async with client_of(lab) as client:
        honest = await undisturbed(lab, client, digest)
        judges = await measured_once(lab, client, body)
        row = await verified(client, body)

    seen(f"judges for {', '.join(judges.asked)}; {row['reward']} as its twin's")
    assert measured(row) == measured(honest)
    assert sorted(judges.asked) == AS_ONCE


@redteam(
    "verify",
    gain="the same by two drops: the second before the call knows what was measured",
    expected="what was measured before the first drop stays",
    defences=["measured_plans_kept", "earlier_artifact_noted"],
)
async def test_drops_the_next_call_as_it_unpacks(
    lab: GymLab, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = lab.stored_app()
    body = make_verify_body(digest, rollout_id="drop")
    unpacking = asyncio.Event()

    @asynccontextmanager
    async def unpacks_for_ever(*_: object) -> AsyncIterator[None]:
        unpacking.set()
        await asyncio.Event().wait()
        yield

    async with client_of(lab) as client:
        honest = await undisturbed(lab, client, digest)
        judges = await measured_once(lab, client, body)
        with monkeypatch.context() as patch:
            patch.setattr("vibench_gym.grading.grader.unpacked", unpacks_for_ever)
            async with dropped(client, body):
                await unpacking.wait()
            await until(lambda: lab.cleaned == lab.begun)
        row = await verified(client, body)

    seen(f"judges for {', '.join(judges.asked)}; {row['reward']} as its twin's")
    assert measured(row) == measured(honest)
    assert sorted(judges.asked) == AS_ONCE


@redteam(
    "verify",
    gain="be given a better rollout's answer: its id under another artifact",
    expected="each artifact has an answer of its own",
    defences=["answers_by_artifact"],
)
async def test_takes_anothers_rollout_id(lab: GymLab, seen: Seen) -> None:
    good, empty = lab.stored_app(), lab.stored_empty_app()
    lab.qa = lambda plan: agent(passing(plan))
    async with client_of(lab) as client:
        other = await verified(client, make_verify_body(good, rollout_id="one"))
        row = await verified(client, make_verify_body(empty, rollout_id="one"))

    assert (other["reward"], row["reward"]) == (1.0, 0.0)
    assert row["build_failed"] is True
    seen("1.0 for the other, 0.0 for itself")


@redteam(
    "verify",
    gain="be given the answer of an easier choice of plans of its task",
    expected="each choice of plans has an answer of its own",
    defences=["answers_by_plans"],
)
async def test_takes_the_answer_of_other_plans(lab: GymLab, seen: Seen) -> None:
    digest = lab.stored_app()
    lab.qa = lambda plan: agent(
        passing(plan) if plan.id.endswith("test1") else failing(plan, "second")
    )
    easy = {"test_plans": ["prds/shop/tests/mvp/test1.txt"]}
    async with client_of(lab) as client:
        first = await verified(client, make_verify_body(digest, rollout_id="one", **easy))
        row = await verified(client, make_verify_body(digest, rollout_id="one"))

    assert first["reward"] == 1.0
    assert row["reward"] == pytest.approx((1 + HALF) / 2)
    seen("1.0 over one plan, 0.65 over two")


@redteam(
    "verify",
    gain="write its results over another rollout's, or anywhere on the host",
    expected="results stay below the task's folder of the run",
    defences=["results_below_run"],
)
async def test_names_a_path_for_a_rollout(lab: GymLab, seen: Seen) -> None:
    run = lab.root / "results/vibench_resources_server"
    digest, tmp = lab.stored_app(), lab.root
    ids = ["../../../x", f"{tmp}/x", "..", "a/b", "\n", "x" * 200, "mvp.test1", "ünïcode\0"]
    async with client_of(lab) as client:
        rows = [await verified(client, make_verify_body(digest, rollout_id=name)) for name in ids]

    for row in rows:
        assert row["results_path"].startswith(f"{run}/shop/")
        assert ".." not in row["results_path"].split("/")
    assert len({row["results_path"] for row in rows}) == len(ids)
    assert {path.name for path in lab.root.iterdir()} <= {
        *("vibench", "artifacts", "results", "app", "app.tar", "empty", "empty.tar", "locks"),
    }
    seen(f"{len(ids)} names, {len(ids)} folders below the run")


@redteam(
    "verify",
    gain="forge lines of a log, or fill a row: a harness's last words without end",
    expected="one line, at most 2000 characters",
    defences=["detail_bounded"],
)
async def test_has_last_words_without_end(lab: GymLab, seen: Seen) -> None:
    words = {"harness_status": "harness_failed", "harness_detail": "x\nERROR forged\n" * 100_000}
    async with client_of(lab) as client:
        row = await verified(client, make_verify_body(lab.stored_app(), **words))

    assert row["reward"] == pytest.approx(HALF)
    assert len(row["failure_reason"]) <= 2000
    assert "\n" not in row["failure_reason"]
    assert not row["mask_sample"]
    seen(f"{len(row['failure_reason'])} characters, one line; scored")


@redteam(
    "verify",
    gain="be masked after a bad build by saying that its time was up or its harness failed",
    expected="scored as its twin",
    defences=["harness_ends_are_scored"],
)
@pytest.mark.parametrize("status", ["timeout", "harness_failed"])
async def test_ends_badly_on_purpose(lab: GymLab, status: str, seen: Seen) -> None:
    digest = lab.stored_app()
    async with client_of(lab) as client:
        honest = await verified(client, make_verify_body(digest, rollout_id="a"))
        row = await verified(
            client, make_verify_body(digest, rollout_id="b", harness_status=status)
        )
        nothing = await verified(client, make_verify_body(None, harness_status=status))

    assert measured(row) == measured(honest)
    assert (nothing["reward"], nothing["mask_sample"], nothing["build_failed"]) == (
        0.0,
        False,
        True,
    )
    seen(f"{row['reward']} as its twin's; nothing built: 0.0, not masked")


@redteam(
    "verify",
    gain="an app that carries its own results: score files, verdicts, a whole run directory",
    expected="never read; scored as its twin",
    defences=["scores_from_verdicts"],
)
async def test_ships_its_own_results(lab: GymLab, seen: Seen) -> None:
    app = make_app(lab.root / "app")
    honest = lab.store.put(pack(app, lab.root / "app.tar"))
    card = {"normalized": 1.0, "score": 10, "full_points": 10, "status": "graded", "reward": 1.0}
    for name in (
        *("score.json", "results.json", "rollout.json", "scorecard.json", "artifact.sha256"),
        *("plans/mvp.test1/scorecard.json", "plans/mvp.test1/plan.json", ".answers/x.json"),
    ):
        path = app / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(card), encoding="utf-8")
    hostile = lab.store.put(pack(app, lab.root / "app.tar"))
    async with client_of(lab) as client:
        first = await verified(client, make_verify_body(honest, rollout_id="a"))
        row = await verified(client, make_verify_body(hostile, rollout_id="b"))

    assert honest != hostile
    assert measured(row) == measured(first)
    seen(f"{row['reward']} as its twin's")


def leak(name: str, row: dict[str, Any]) -> Any:
    gain = "test plans or the judge's files, handed to the builder with its brief"
    case = Case("verify", gain, "422, nothing handed out", ("brief_only",), name, row)
    return pytest.param(case, id=name)


@pytest.mark.parametrize(
    "case",
    [
        leak("plan_as_prd", {"prd_files": ["prds/shop/tests/mvp/test1.txt"]}),
        leak("plans_as_assets", {"asset_dirs": ["prds/shop/tests"]}),
        leak("test_assets_as_assets", {"asset_dirs": ["prds/shop/test_assets"]}),
        leak("climbs_out_of_assets", {"asset_dirs": ["prds/shop/assets/../tests"]}),
        leak("another_apps_prd", {"prd_files": ["prds/other/prd/mvp.txt"]}),
        leak("host_file_as_prd", {"prd_files": ["/etc/passwd"]}),
        leak("app_that_is_a_path", {"app": "../../../etc", "prd_files": []}),
    ],
)
async def test_asks_for_more_than_its_brief(lab: GymLab, case: Case, seen: Seen) -> None:
    async with client_of(lab) as client:
        honest = await client.post("/seed_session", json=make_row())
        response = await client.post("/seed_session", json={**make_row(), **case.attack})

    assert honest.status_code == 200
    assert honest.json().keys() == {"prd_text", "assets"}
    assert response.status_code == 422
    assert "first" not in response.text
    assert "for the QA agent" not in response.text
    seen("422")


@redteam(
    "verify",
    gain="the judge's files through a link that lies among the builder's assets",
    expected="422, nothing handed out",
    defences=["asset_links_stay_inside"],
)
async def test_has_a_link_among_its_assets(lab: GymLab, seen: Seen) -> None:
    assets = lab.root / "vibench/prds/shop/assets"
    (assets / "more").symlink_to(lab.root / "vibench/prds/shop/test_assets/secret.txt")
    async with client_of(lab) as client:
        response = await client.post("/seed_session", json=make_row())

    assert response.status_code == 422
    assert "Zm9yIHRoZSBRQSBhZ2VudA" not in response.text  # base64 of the judge's file
    seen("422")


@redteam(
    "verify",
    gain="forged answers: a folder that another user put where answers are kept",
    expected="the server refuses to start on it",
    defences=["private_folders"],
)
def test_plants_the_folder_of_answers(tmp_path: Path, seen: Seen) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    mine = tmp_path / "mine"
    mine.mkdir()
    (shared / "answers").symlink_to(mine)
    with pytest.raises(ConfigError, match="not a writable folder of this user"):
        VerifyCache(shared / "answers")

    VerifyCache(shared / "honest")
    seen("refused; a folder of our own is made beside it")


@redteam(
    "verify",
    gain="run a script in the operator's browser, through words that stand in the report",
    expected="shown as text",
    defences=["report_escapes"],
)
async def test_scripts_in_the_report(lab: GymLab, seen: Seen) -> None:
    evil = '<script>alert(1)</script><img src=x onerror=alert(2)>"><svg onload=alert(3)>'
    lab.qa = lambda plan: agent(failing(plan, "second", f"it is {evil}"))
    async with client_of(lab) as client:
        body = make_verify_body(lab.stored_app(), rollout_id="a<script>b")
        row = await verified(client, body)

    assert row["reward"] == pytest.approx(HALF)
    page = write_report(lab.root / "results/vibench_resources_server").read_text(encoding="utf-8")
    assert "alert(1)" in page
    for raw in ("<script>alert(1)", "<img src=x onerror", "<svg onload=alert(3)"):
        assert raw not in page
    seen("escaped")
