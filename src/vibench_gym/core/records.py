# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves on disk: the contract between grader, report, rescore and `--json`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from vibench_gym.core.status import ArtifactStatus, PlanStatus, StepOutcome
from vibench_gym.core.verdict import Evidence, StepVerdict


class Record(BaseModel):
    """Base of all stored records: frozen, unknown keys refused, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StepScore(Record):
    """One row of a scorecard. `points` are the plan's, `score` is `points` or 0."""

    name: str
    points: int
    score: int
    outcome: StepOutcome
    fatal: bool
    failed_check: str | None
    reason: str


class Scorecard(Record):
    """A pure function of plan, verdicts and status (scoring.md); no clock, no host, no order."""

    plan: str
    status: PlanStatus
    score: int
    full_points: int
    normalized: float
    steps: tuple[StepScore, ...]


class PhaseTiming(Record):
    """Seconds that one phase of a plan or rollout took."""

    phase: str
    seconds: float


class UsageRecord(Record):
    """Tokens and requests of one model role."""

    role: Literal["qa", "seeder"]
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int
    seconds: float


class PlanRecord(Record):
    """`plans/<plan-id>/plan.json`: everything about one plan but the event stream."""

    plan: str
    plan_sha256: str
    status: PlanStatus
    seeding_failed: bool = False
    """True when the status is `seeding_failed`."""
    app_fault: bool = True
    """For a failed status: whether the app (scored) or the grader (masked) is at fault."""
    failure_kind: str | None = None
    error: str | None = None
    attempts: int = 1
    seeded: bool = False
    verdicts: tuple[StepVerdict, ...]
    evidence: tuple[Evidence, ...] = ()
    timings: tuple[PhaseTiming, ...] = ()
    usage: tuple[UsageRecord, ...] = ()
    duration_s: float = 0.0
    peak_memory_bytes: int = 0
    flags: tuple[str, ...] = ()
    """Things a reader should know: text that addressed the judge, cut snapshots, refused quotes."""


class SetupRecord(Record):
    """What set-up did."""

    duration_s: float
    return_code: int
    log_tail: str
    python_version: str
    node_version: str
    blocked_hosts: dict[str, int] = {}
    dropped_members: tuple[str, ...] = ()


class RolloutRecord(Record):
    """`rollout.json`: one artifact graded on one task."""

    schema_version: Literal[1] = 1
    label: str
    task: str
    artifact: str
    artifact_sha256: str | None
    artifact_status: ArtifactStatus
    artifact_message: str = ""
    grader: Literal["builtin", "vibench"] = "builtin"
    """Ours, or ViBench's own scripts."""
    plans: tuple[str, ...]
    """Plan ids in the task's order."""
    plan_names: dict[str, str] = {}
    """Plan id -> path of the plan's file, relative to the task root."""
    reward: float | None = None
    """None while the rollout is running."""
    build_failed: bool = False
    mask_sample: bool = False
    failure_kind: str | None = None
    failure_reason: str | None = None
    setup: SetupRecord | None = None
    timings: tuple[PhaseTiming, ...] = ()
    started_at: str
    """UTC, ISO 8601."""
    finished_at: str | None = None
    known_exceptions: tuple[str, ...] = ()
    """Plans that were accepted though invalid, with the reason (rule 1)."""


EventKind = Literal[
    "phase",
    "observation",
    "check",
    "second_look",
    "verdict",
    "refusal",
    "model",
    "shell",
    "flag",
    "error",
    "attempt",
]


class Event(Record):
    """One line of `events.jsonl`. `t` is seconds since the plan started."""

    t: float
    kind: EventKind
    step: str | None = None
    data: dict[str, Any] = {}
