# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.core.status import PlanStatus
from vibench_gym.gym.server import metrics

pytestmark = pytest.mark.gym


def make(reward: float, *statuses: str, **more: Any) -> dict[str, Any]:
    return {
        "reward": reward,
        "build_failed": False,
        "seeding_failure_rate": statuses.count("seeding_failed") / len(statuses),
        "test_plans_graded": statuses.count("graded"),
        "test_plans_total": len(statuses),
        "results": [{"status": status} for status in statuses],
        "artifact_status": "ok",
        "harness_status": "ok",
        **more,
    }


def test_numbers_of_a_run() -> None:
    found = metrics.compute(
        [
            [make(1.0, "graded", "graded"), make(0.0, "start_failed", "start_failed")],
            [make(0.5, "graded", "seeding_failed")],
        ]
    )

    assert found["mean_reward"] == 0.5
    assert found["perfect_rate"] == 0.25
    assert found["zero_rate"] == 0.25
    assert found["build_failure_rate"] == 0.0
    assert found["mean_seeding_failure_rate"] == 0.25
    assert found["plans_graded_rate"] == 0.5
    assert found["plan_status_rate/graded"] == 0.5
    assert found["plan_status_rate/start_failed"] == pytest.approx(1 / 3)
    assert found["plan_status_rate/app_crashed"] == 0.0
    assert found["artifact_status_rate/ok"] == 1.0
    assert found["harness_status_rate/ok"] == 1.0


def test_tasks_weigh_alike_however_many_rollouts_are_left() -> None:
    found = metrics.compute([[make(1.0, "graded")] * 3, [make(0.0, "graded")]])

    assert found["mean_reward"] == 0.5


def test_failed_builds_and_timeouts_are_counted() -> None:
    failed = make(
        0.0,
        "setup_failed",
        build_failed=True,
        artifact_status="not_buildable",
        harness_status="timeout",
    )
    found = metrics.compute([[failed, make(1.0, "graded")]])

    assert found["build_failure_rate"] == 0.5
    assert found["artifact_status_rate/not_buildable"] == 0.5
    assert found["harness_status_rate/timeout"] == 0.5


def test_each_tasks_numbers_carry_its_index() -> None:
    found = metrics.compute([[make(1.0, "graded", _ng_task_index=4)]])

    assert found["per_task_metrics"] == [
        {
            "_ng_task_index": 4,
            "mean_reward": 1.0,
            "perfect_rate": 1.0,
            "zero_rate": 0.0,
            "build_failure_rate": 0.0,
            "mean_seeding_failure_rate": 0.0,
        }
    ]


def test_nothing_measured_gives_no_numbers() -> None:
    assert metrics.compute([]) == {}
    assert metrics.compute([[]]) == {}
    assert metrics.masking([]) == {}


def test_rows_of_another_environment_do_not_break_it() -> None:
    assert metrics.compute([[{"reward": 1.0}]])["plans_graded_rate"] == 0.0


def test_masking_is_a_share_of_all_rows() -> None:
    rows = [
        {"mask_sample": True, "failure_kind": "judge_failed"},
        {"mask_sample": True, "failure_kind": "vibench:no_model_call"},
        {"mask_sample": False, "failure_kind": "agent_timeout"},
        {},
    ]

    assert metrics.masking(rows) == {
        "masked_rate": 0.5,
        "masked_rate/judge_failed": 0.25,
        "masked_rate/vibench:no_model_call": 0.25,
    }
    assert metrics.masking(rows[2:]) == {"masked_rate": 0.0}


def test_key_metrics_are_the_named_ones_and_the_standard_means() -> None:
    computed = metrics.compute([[make(1.0, "graded")]])
    keys = metrics.key_metrics({**computed, "mean/reward": 1.0, "max/reward": 1.0, "other": 2})

    assert set(metrics.KEY_METRICS) - {"masked_rate"} <= keys.keys()
    assert "mean/reward" in keys
    assert {f"plan_status_rate/{status.value}" for status in PlanStatus} <= keys.keys()
    assert not {"max/reward", "other", "per_task_metrics"} & keys.keys()


statuses = st.lists(st.sampled_from([s.value for s in PlanStatus]), min_size=1, max_size=5)
rollouts = st.builds(lambda r, s: make(r, *s), st.floats(0, 1), statuses)


@given(st.lists(st.lists(rollouts, max_size=4), max_size=4))
def test_every_rate_is_one_and_plan_statuses_add_up(tasks: list[list[dict[str, Any]]]) -> None:
    found = metrics.compute(tasks)

    assert all(0 <= value <= 1 + 1e-9 for value in found.values() if isinstance(value, float))
    if any(tasks):
        shares = [v for k, v in found.items() if k.startswith(metrics.PLAN_STATUS)]
        assert sum(shares) == pytest.approx(1.0)
