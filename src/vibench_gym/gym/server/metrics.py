# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Computes the environment's metrics of a whole run; pure functions of stored rows.

`compute` gets measured rows only: NeMo Gym takes masked rows out first. Means over tasks weigh all
tasks alike, however many of a task's rollouts were masked. The share of masked rows needs all rows:
`/aggregate_metrics` passes them to `masking`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from vibench_gym.core.status import ArtifactStatus, PlanStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

type Row = Mapping[str, Any]

TASK_INDEX: Final = "_ng_task_index"
MASKED_RATE: Final = "masked_rate"
PLAN_STATUS: Final = "plan_status_rate/"
ARTIFACT_STATUS: Final = "artifact_status_rate/"
HARNESS_STATUS: Final = "harness_status_rate/"
KEY_METRICS: Final = (
    "mean_reward",
    "perfect_rate",
    "zero_rate",
    "build_failure_rate",
    "mean_seeding_failure_rate",
    "plans_graded_rate",
    MASKED_RATE,
)


def compute(tasks: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """Metrics of all measured rows, `tasks[i]` being those of one task."""
    tasks = [rows for rows in tasks if rows]
    if not tasks:
        return {}
    rows = [row for task in tasks for row in task]
    per_task = [_task_metrics(task) for task in tasks]
    found: dict[str, Any] = {
        name: _mean(task[name] for task in per_task)
        for name in (
            "mean_reward",
            "perfect_rate",
            "zero_rate",
            "build_failure_rate",
            "mean_seeding_failure_rate",
        )
    }
    found["plans_graded_rate"] = _share(
        sum(_number(row, "test_plans_graded") for row in rows),
        sum(_number(row, "test_plans_total") for row in rows),
    )
    found |= _plan_statuses(rows)
    found |= _statuses(rows, "artifact_status", ARTIFACT_STATUS, [s.value for s in ArtifactStatus])
    found |= _statuses(rows, "harness_status", HARNESS_STATUS)
    indexed = [
        {TASK_INDEX: task[0][TASK_INDEX], **metrics}
        for task, metrics in zip(tasks, per_task, strict=True)
        if TASK_INDEX in task[0]
    ]
    return {**found, "per_task_metrics": indexed} if indexed else found


def masking(rows: Sequence[Row]) -> dict[str, float]:
    """The share of masked rows among all rows, and the reasons."""
    if not rows:
        return {}
    kinds = Counter(str(row.get("failure_kind")) for row in rows if row.get("mask_sample"))
    found = {MASKED_RATE: sum(kinds.values()) / len(rows)}
    return found | {f"{MASKED_RATE}/{kind}": n / len(rows) for kind, n in sorted(kinds.items())}


def key_metrics(agent_metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The headline: the named rates, those per status, and NeMo Gym's own means."""
    prefixes = ("mean/", PLAN_STATUS, ARTIFACT_STATUS, HARNESS_STATUS, f"{MASKED_RATE}/")
    named = {name: agent_metrics[name] for name in KEY_METRICS if name in agent_metrics}
    return named | {
        name: value
        for name, value in agent_metrics.items()
        if name.startswith(prefixes) and name not in named
    }


def _task_metrics(rows: Sequence[Row]) -> dict[str, float]:
    def mean(value: Callable[[Row], float]) -> float:
        return _mean(value(row) for row in rows)

    return {
        "mean_reward": mean(lambda row: _number(row, "reward")),
        "perfect_rate": mean(lambda row: _number(row, "reward") >= 1.0),
        "zero_rate": mean(lambda row: _number(row, "reward") <= 0.0),
        "build_failure_rate": mean(lambda row: bool(row.get("build_failed"))),
        "mean_seeding_failure_rate": mean(lambda row: _number(row, "seeding_failure_rate")),
    }


def _plan_statuses(rows: Iterable[Row]) -> dict[str, float]:
    """Shares of all plans, those of failed builds included; they add up to 1."""
    seen = Counter(str(result.get("status")) for row in rows for result in row.get("results") or ())
    names = {status.value for status in PlanStatus} | seen.keys()
    return {f"{PLAN_STATUS}{name}": _share(seen[name], seen.total()) for name in sorted(names)}


def _statuses(
    rows: Sequence[Row], field: str, prefix: str, names: Iterable[str] = ()
) -> dict[str, float]:
    seen = Counter(str(row[field]) for row in rows if row.get(field) is not None)
    return {f"{prefix}{name}": _share(seen[name], len(rows)) for name in sorted({*names, *seen})}


def _number(row: Row, name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
