# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The judge's endpoint fails, on the wire: for good it masks, for a moment it costs nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from support.faults.fault_lab import fault_lab, refusal, turn
from support.faults.fault_server import Fault, completion_body, ok
from support.grading import check
from support.grading_lab import FAST
from vibench_gym.core.config import GraderConfig

if TYPE_CHECKING:
    from pathlib import Path

    from support.faults.endings import Point, Tell

GOOD = turn(("snapshot", {}))
FEW_TURNS = GraderConfig(second_look_wait_s=0.0, turns_per_step=5)


@dataclass(frozen=True)
class Case:
    name: str
    fault: Fault
    kind: str = "grader_model_failed"
    point: Point = "model"
    settings: dict[str, Any] = field(default_factory=dict)
    config: GraderConfig = FAST

    def __str__(self) -> str:
        return self.name


def page(text: str, status: int = 200) -> Fault:
    return Fault(status, text.encode(), {"content-type": "text/html"})


def body(**changes: Any) -> Fault:
    return Fault(body=json.dumps({**completion_body(content="x"), **changes}).encode())


CASES = (
    Case("401", refusal(401, "invalid_api_key")),
    Case("403", refusal(403)),
    Case("404 no such model", refusal(404, "model_not_found")),
    Case("408", refusal(408)),
    Case("429", refusal(429, "rate_limit_exceeded")),
    Case("429 with Retry-After", refusal(429, headers={"retry-after": "1"})),
    Case("429 with a Retry-After of a day", refusal(429, headers={"retry-after": "86400"})),
    Case(
        "429 with a Retry-After date long ago",
        refusal(429, headers={"retry-after": "Mon, 01 Jan 0001 00:00:00 -0000"}),
    ),
    Case("429 with a senseless Retry-After", refusal(429, headers={"retry-after": "soon"})),
    Case("429 out of quota", refusal(429, "insufficient_quota")),
    Case("500", refusal(500)),
    Case("502 with a page of HTML", page("<h1>Bad Gateway</h1>", 502)),
    Case("503 with a date", refusal(503, headers={"retry-after": "Tue, 01 Jan 2069 00:00:00 GMT"})),
    Case("hang", Fault(hang=True), settings={"timeout_s": 1.0}),
    Case("truncated answer", Fault(body=GOOD.body, cut=100)),
    Case("half of the JSON", Fault(body=GOOD.body[: len(GOOD.body) // 2])),
    Case("nothing at all", Fault(body=b"")),
    Case("200 with an error object", Fault(body=b'{"error": {"message": "overloaded"}}')),
    Case("200 with an error text", ok(content="Error: rate limit reached, try again in 20 s")),
    Case("200 with a page of HTML", page("<html>sign in</html>")),
    Case("200 with another object", Fault(body=b'{"object": "list", "data": []}')),
    Case("200 without choices", body(choices=[])),
    Case("200 with a null message", body(choices=[{"index": 0, "message": None}])),
    Case("empty completion", ok(content="")),
    Case("no tool is called", ok(content="I shall look at the page now.")),
    Case("context overflow", refusal(400, "context_length_exceeded")),
    Case("refused by a content filter", refusal(400, "content_filter")),
    Case(
        "malformed tool call",
        turn(("record_check", '{"step": "first", "check": ')),
        "budget_exceeded",
        config=FEW_TURNS,
    ),
    Case("empty tool arguments", turn(("record_check", "")), "budget_exceeded", config=FEW_TURNS),
    Case("unknown tool", turn(("approve", {})), "budget_exceeded", config=FEW_TURNS),
    Case(
        "cut off in a tool call",
        turn(("record_check", '{"step": "fir'), finish_reason="length"),
        "budget_exceeded",
        config=FEW_TURNS,
    ),
    Case("looks without end", GOOD, "verdict_unusable", "verdicts"),
    Case("a verdict without a look", turn(check("first")), "verdict_unusable", "verdicts"),
    Case("a verdict for no step", turn(check("third")), "verdict_unusable", "verdicts"),
    Case("a verdict for a step to come", turn(check("second")), "verdict_unusable", "verdicts"),
    Case(
        "a pass of a step without a check",
        turn(("end_step", {"step": "first", "outcome": "passed"})),
        "verdict_unusable",
        "verdicts",
    ),
    Case("finishes at once", turn(("finish", {})), "verdict_unusable", "verdicts"),
    Case(
        "tokens without end",
        body(
            choices=json.loads(GOOD.body)["choices"],
            usage={"prompt_tokens": 10**9, "completion_tokens": 1},
        ),
        "budget_exceeded",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_for_good_it_masks(tmp_path: Path, case: Case, tell: Tell) -> None:
    async with fault_lab(tmp_path, for_good=True) as lab:
        lab.config, lab.model_settings = case.config, case.settings
        lab.strike(case.fault)
        end = await lab.end()
    tell(case.name, case.point, "for good", end)
    assert (end.verdict, end.kind) == ("masked", case.kind), end
    assert end.attempts == 2
    assert end.why


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_for_a_moment_it_costs_nothing(tmp_path: Path, case: Case, tell: Tell) -> None:
    async with fault_lab(tmp_path, for_good=False) as lab:
        lab.config, lab.model_settings = case.config, case.settings
        lab.strike(case.fault)
        end = await lab.end()
    tell(case.name, case.point, "once", end)
    assert (end.verdict, end.reward) == ("scored", 1.0), end


@pytest.mark.parametrize("name", ["401", "hang", "context overflow", "empty completion"])
async def test_a_seeders_model_fails_like_a_judges(tmp_path: Path, name: str, tell: Tell) -> None:
    case = next(case for case in CASES if case.name == name)
    async with fault_lab(tmp_path, for_good=True) as lab:
        lab.model_settings = case.settings
        lab.seeded()
        lab.strike(case.fault, only="seeder")
        end = await lab.end()
    tell(f"{name} (seeder)", "seeding", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "grader_model_failed"), end


async def test_an_endpoint_that_is_not_there_masks(tmp_path: Path, tell: Tell) -> None:
    async with fault_lab(tmp_path, for_good=True) as lab:
        lab.server.url = "http://127.0.0.1:9/v1"
        end = await lab.end()
    tell("connection refused", "model", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "grader_model_failed"), end


async def test_a_model_that_uses_its_time_up_masks(tmp_path: Path, tell: Tell) -> None:
    async with fault_lab(tmp_path, for_good=True) as lab:
        lab.config = GraderConfig(second_look_wait_s=0.0, model_time_per_plan_s=0.5)
        lab.strike(Fault(hang=True))
        end = await lab.end()
    tell("slower than its budget", "model", "for good", end)
    assert (end.verdict, end.kind) == ("masked", "budget_exceeded"), end


async def test_a_missing_key_is_the_operators(
    tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIBENCH_GYM_API_KEY", raising=False)
    async with fault_lab(tmp_path, for_good=True) as lab:
        lab.server.url = "https://models.example/v1"
        end = await lab.end()
    tell("no key", "model", "for good", end)
    assert (end.verdict, end.kind) == ("operator", "ConfigError"), end


async def test_a_replay_that_knows_no_answer_is_the_operators(tmp_path: Path, tell: Tell) -> None:
    async with fault_lab(tmp_path, for_good=True) as lab:
        lab.strike(refusal(404, "cassette_miss"))
        end = await lab.end()
    tell("no answer on the cassette", "model", "for good", end)
    assert (end.verdict, end.kind) == ("operator", "CassetteMiss"), end
