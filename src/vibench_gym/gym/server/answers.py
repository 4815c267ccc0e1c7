# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the answer of `/verify` from a graded rollout on disk, and answers without a grading.

A reward that was not measured is masked, never a plain zero. `failure_kind` takes a name of
nemo-gym's vocabulary where one says the same, else one of our own with the prefix `vibench:`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from nemo_gym import failure_kinds as gym_kinds
from nemo_gym.rollout_observability import SandboxObservation

from vibench_gym.core.config import MIB
from vibench_gym.core.scoring.scorecard import SCORED
from vibench_gym.core.shown_text import visible
from vibench_gym.core.status import ArtifactStatus, PlanStatus, StepOutcome
from vibench_gym.core.tasks.task import Task
from vibench_gym.gym.wire import MAX_DETAIL_CHARS, HarnessStatus, PlanResult, VerifyAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vibench_gym.core.records import PlanRecord, RolloutRecord, Scorecard
    from vibench_gym.core.rundir import RolloutDir
    from vibench_gym.core.tasks.plan import TestPlan

OWN_KIND: Final = "vibench:"
_REGISTERED: Final[Mapping[str, str]] = {
    "sandbox_unavailable": gym_kinds.PROVIDER_UNAVAILABLE,
    "database_unavailable": gym_kinds.PROVIDER_UNAVAILABLE,
    "browser_failed": gym_kinds.PROVIDER_UNAVAILABLE,
    "registry_unavailable": gym_kinds.PROVIDER_UNAVAILABLE,
    "clock_jumped": gym_kinds.VERIFIER_ERROR,
    "grader_model_failed": gym_kinds.JUDGE_FAILED,
    "verdict_unusable": gym_kinds.JUDGE_UNPARSEABLE,
    "grader_fault": gym_kinds.VERIFIER_ERROR,
    "grader_failed": gym_kinds.VERIFIER_ERROR,
    "not_measured": gym_kinds.VERIFIER_ERROR,
}
_HARNESS: Final[Mapping[HarnessStatus, str]] = {
    HarnessStatus.TIMEOUT: gym_kinds.AGENT_TIMEOUT,
    HarnessStatus.HARNESS_FAILED: gym_kinds.AGENT_RUN_ERROR,
    HarnessStatus.NO_MODEL_CALL: f"{OWN_KIND}no_model_call",
    HarnessStatus.UNREACHABLE_MODEL: gym_kinds.TRANSPORT_UNREACHABLE,
    HarnessStatus.BOX_FAILED: gym_kinds.PROVIDER_UNAVAILABLE,
    HarnessStatus.HARVEST_FAILED: f"{OWN_KIND}harvest_failed",
    HarnessStatus.SKIPPED: f"{OWN_KIND}skipped",
    HarnessStatus.NO_STARTING_TREE: f"{OWN_KIND}no_starting_tree",
}


def gym_kind(kind: str | None) -> str | None:
    """The name under which NeMo Gym groups one of our failures."""
    if kind is None:
        return None
    return _REGISTERED.get(kind, f"{OWN_KIND}{kind}")


def measured_answer(
    task: Task, record: RolloutRecord, directory: RolloutDir, *, provider: str
) -> VerifyAnswer:
    """The answer of a finished rollout; `provider` held its app, by NeMo Gym's name."""
    stored = [_stored(directory, plan) for plan in task.plans]
    results = [_result(task, plan, *pair) for plan, pair in zip(task.plans, stored, strict=True)]
    phases = {timing.phase: timing.seconds for timing in record.timings}
    records = [plan_record for plan_record, _ in stored if plan_record is not None]
    usage = [use for plan_record in records for use in plan_record.usage]
    setup_s = record.setup.duration_s if record.setup else phases.get("setup", 0.0)
    answer = _summary(
        results,
        reward=0.0 if record.reward is None else record.reward,
        mask_sample=record.mask_sample,
        failure_kind=gym_kind(record.failure_kind),
        failure_reason=record.failure_reason,
        artifact_status=record.artifact_status,
    )
    return answer.model_copy(
        update={
            "artifact_extraction_time_s": phases.get("unpack", 0.0),
            "setup_time_s": setup_s,
            "grading_time_s": phases.get("plans", 0.0),
            "queue_time_s": max((_phase(one, "queue") for one in records), default=0.0),
            "grader_input_tokens": sum(use.input_tokens for use in usage),
            "grader_output_tokens": sum(use.output_tokens for use in usage),
            "results_path": str(directory.path),
            "verifier_sandbox_observation": _observation(record, phases, records, provider),
        }
    )


def missing_answer(task: Task, detail: str) -> VerifyAnswer:
    """The builder left nothing behind: a failed build, a valid zero."""
    message = detail or "the builder left no app behind"
    return _summary(
        _unscored_plans(task, PlanStatus.SETUP_FAILED, message),
        reward=0.0,
        failure_kind=gym_kind(ArtifactStatus.MISSING.value),
        failure_reason=message,
        artifact_status=ArtifactStatus.MISSING,
    )


def unmeasured_answer(plans: Task | Sequence[str], kind: str, reason: str) -> VerifyAnswer:
    """Something of ours failed before or around grading: masked.

    `plans` are the task's, or their names if the task could not be loaded; `kind` is a name that
    NeMo Gym knows, or one with our prefix.
    """
    failed = PlanStatus.GRADER_FAILED
    if isinstance(plans, Task):
        results = _unscored_plans(plans, failed, reason)
    else:
        results = [_unscored(name, name, failed, reason) for name in plans]
    return _summary(
        results,
        reward=0.0,
        mask_sample=True,
        failure_kind=kind,
        failure_reason=reason,
    )


def harness_fault_answer(task: Task, status: HarnessStatus, detail: str) -> VerifyAnswer:
    """The build says nothing about the policy: masked, ungraded."""
    reason = f"harness: {status}" + (f": {detail}" if detail else "")
    return unmeasured_answer(task, _HARNESS[status], reason)


def with_harness(answer: VerifyAnswer, status: HarnessStatus, detail: str) -> VerifyAnswer:
    """Name a harness that did not end well; the measurement is unchanged."""
    if status is HarnessStatus.OK or answer.mask_sample:
        return answer
    reasons = [f"harness: {status}", detail, answer.failure_reason or ""]
    reason = visible(": ".join(part for part in reasons if part))[:MAX_DETAIL_CHARS]
    return answer.model_copy(update={"failure_kind": _HARNESS[status], "failure_reason": reason})


def _observation(
    record: RolloutRecord,
    phases: Mapping[str, float],
    plans: Sequence[PlanRecord],
    provider: str,
) -> dict[str, Any] | None:
    """What NeMo Gym wants to know of the boxes in which the app ran."""
    if record.artifact_status is not ArtifactStatus.OK:
        return None
    kind = gym_kind(record.failure_kind)
    lost = kind == gym_kinds.PROVIDER_UNAVAILABLE
    peak = max((plan.peak_memory_bytes for plan in plans), default=0)
    observation = SandboxObservation(
        role="verifier",
        provider=provider,
        outcome="sandbox_error" if lost else "completed",
        wall_time_s=phases.get("setup", 0.0) + phases.get("plans", 0.0),
        peak_memory_mib=peak / MIB if peak else None,
        error_type=kind if lost else None,
    )
    return observation.model_dump(mode="json", exclude_none=True)


def _stored(directory: RolloutDir, plan: TestPlan) -> tuple[PlanRecord | None, Scorecard | None]:
    """What is on disk about a plan; a rejected artifact's plans may have no folder."""
    where = directory.plan(plan.id)
    return where.read_record(), where.read_scorecard()


def _result(
    task: Task, plan: TestPlan, record: PlanRecord | None, card: Scorecard | None
) -> PlanResult:
    if record is None or card is None:
        return _unscored_plan(task, plan, PlanStatus.GRADER_FAILED, "was not measured")
    passed = sum(step.outcome is StepOutcome.PASSED for step in card.steps)
    return PlanResult(
        test_plan=plan.id,
        path=_path(task, plan),
        status=record.status,
        score=card.score,
        full_points=card.full_points,
        normalized_score=card.normalized,
        steps_total=len(card.steps),
        steps_passed=passed,
        seeding_failed=record.seeding_failed,
        error=None if record.error is None else visible(record.error),
        duration_s=record.duration_s,
    )


def _unscored(
    name: str, path: str, status: PlanStatus, error: str, *, full_points: float = 0, steps: int = 0
) -> PlanResult:
    """A plan without a scorecard."""
    return PlanResult(
        test_plan=name,
        path=path,
        status=status,
        score=0,
        full_points=full_points,
        normalized_score=0.0,
        steps_total=steps,
        steps_passed=0,
        seeding_failed=False,
        error=visible(error)[:MAX_DETAIL_CHARS],
        duration_s=0.0,
    )


def _unscored_plan(task: Task, plan: TestPlan, status: PlanStatus, error: str) -> PlanResult:
    points, steps = plan.full_points, len(plan.steps)
    path = _path(task, plan)
    return _unscored(plan.id, path, status, error, full_points=points, steps=steps)


def _unscored_plans(task: Task, status: PlanStatus, error: str) -> list[PlanResult]:
    return [_unscored_plan(task, plan, status, error) for plan in task.plans]


def _path(task: Task, plan: TestPlan) -> str:
    """The plan as rows name it."""
    return f"prds/{task.name}/{plan.source}"


def _phase(record: PlanRecord, name: str) -> float:
    return sum(timing.seconds for timing in record.timings if timing.phase == name)


def _summary(
    results: Sequence[PlanResult],
    *,
    reward: float,
    artifact_status: ArtifactStatus | None = None,
    mask_sample: bool = False,
    failure_kind: str | None = None,
    failure_reason: str | None = None,
) -> VerifyAnswer:
    return VerifyAnswer(
        reward=reward,
        reward_components={one.test_plan: one.normalized_score for one in results},
        mask_sample=mask_sample,
        failure_kind=failure_kind,
        failure_reason=visible(failure_reason)[:MAX_DETAIL_CHARS] if failure_reason else None,
        build_failed=artifact_status not in (None, ArtifactStatus.OK),
        artifact_status=artifact_status,
        seeding_failure_rate=_rate(one.seeding_failed for one in results),
        test_plans_graded=sum(one.status in SCORED for one in results),
        test_plans_total=len(results),
        steps_total=sum(one.steps_total for one in results),
        steps_passed=sum(one.steps_passed for one in results),
        results=list(results),
    )


def _rate(values: Iterable[bool]) -> float:
    flags = list(values)
    return sum(flags) / len(flags) if flags else 0.0
