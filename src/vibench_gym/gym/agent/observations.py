# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Describes a build as observations, from which NeMo Gym judges the health of a rollout.

The harness sends its session id with every model call, and by it calls are joined to conversations;
an invocation has the session id as its name. The root conversation is the first that made a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nemo_gym.rollout_observability import (
    AgentInvocation,
    AgentObservationBundle,
    ObservationGap,
    SandboxObservation,
    ToolCallObservation,
)
from pydantic import ValidationError

from vibench_gym.gym.wire import HarnessStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vibench_gym.gym.agent.build import BuildResult
    from vibench_gym.gym.agent.harnesses.base import ToolUse

VERIFIER_OBSERVATION = "verifier_sandbox_observation"
_OUTCOMES = {
    HarnessStatus.OK: ("completed", "completed"),
    HarnessStatus.TIMEOUT: ("incomplete", "timeout"),
    HarnessStatus.HARNESS_FAILED: ("failed", "failed"),
    HarnessStatus.NO_MODEL_CALL: ("failed", "failed"),
    HarnessStatus.UNREACHABLE_MODEL: ("failed", "failed"),
    HarnessStatus.BOX_FAILED: ("failed", "sandbox_error"),
    HarnessStatus.HARVEST_FAILED: ("completed", "sandbox_error"),
    HarnessStatus.SKIPPED: ("failed", "cancelled"),
    HarnessStatus.NO_STARTING_TREE: ("failed", "sandbox_error"),
}


def observe(
    build: BuildResult, *, rollout_id: str, source: str, verifier: object
) -> dict[str, Any]:
    """The bundle for `ng_agent_observations`; `verifier` comes from the resources server."""
    status, outcome = _OUTCOMES[build.status]
    sessions = _ordered(build.sessions, build.transcript.sessions) or [rollout_id]
    records: list[Any] = [
        AgentInvocation.model_validate(
            {
                "invocation_id": session,
                "parent_invocation_id": None if session == sessions[0] else sessions[0],
                # Nothing that we read says how a sub-agent ended.
                "status": status if session == sessions[0] else "unknown",
                "duration_ms": build.harness_s * 1000 if session == sessions[0] else None,
                "error_type": None if build.status is HarnessStatus.OK else build.status.value,
                "conversation": list(build.transcript.items) if session == sessions[0] else [],
            }
        )
        for session in sessions
    ]
    known = set(sessions)
    records += [
        ToolCallObservation(
            invocation_id=tool.session,
            tool_call_id=tool.call_id,
            sandbox_id=build.sandbox_id,
            tool_name=tool.name or None,
            started_at=tool.started_at,
            completed_at=tool.completed_at,
            duration_ms=_milliseconds(tool),
            timing_source=None if tool.started_at is None else "harness",
            status="completed" if tool.completed else "failed",
        )
        for tool in build.transcript.tools
        if tool.session in known
    ]
    if build.provider:  # a row that was skipped, or a tree that was handed over, had no box
        records.append(
            SandboxObservation.model_validate(
                {
                    "role": "agent",
                    "provider": build.provider,
                    "sandbox_id": build.sandbox_id,
                    "outcome": outcome,
                    "exit_code": build.return_code,
                    "wall_time_s": build.box_s,
                    "error_type": None if outcome == "completed" else build.status.value,
                }
            )
        )
    gaps: list[ObservationGap] = []
    if verifier is not None:
        try:
            observation = SandboxObservation.model_validate(verifier)
            if observation.role == "verifier":
                records.append(observation)
            else:
                gaps.append(ObservationGap(code="verifier_sandbox_observation_invalid"))
        except ValidationError:
            gaps.append(ObservationGap(code="verifier_sandbox_observation_invalid"))
    if build.transcript.unreadable_lines:
        detail = f"{build.transcript.unreadable_lines} lines"
        gaps.append(ObservationGap(code="agent_artifact_record_unparseable", detail=detail))
    bundle = AgentObservationBundle(source=source, records=records, gaps=gaps)
    return bundle.model_dump(mode="json")


def _milliseconds(tool: ToolUse) -> float | None:
    if tool.started_at is None or tool.completed_at is None:
        return None
    return (tool.completed_at - tool.started_at) * 1000


def _ordered(*sources: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for names in sources for name in names))
