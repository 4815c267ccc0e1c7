# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Decides whose fault it is when a harness does not end well.

A builder must not be able to get its rollout masked. So a failed harness is scored on what it
built, unless our own side shows that it could not have done better: no model call was ever
answered, or the model does not answer us either. A box that is lost is our fault only if no model
call had been answered in it yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vibench_gym.gym.wire import HarnessStatus

if TYPE_CHECKING:
    from vibench_gym.gym.agent.harnesses.base import Transcript
    from vibench_gym.gym.agent.model_control import ModelControl
    from vibench_gym.gym.box.build_box import CommandResult
    from vibench_gym.gym.box.call_usage import Usage
    from vibench_gym.gym.box.model_route import ModelTraffic


@dataclass(frozen=True, slots=True)
class Evidence:
    """What we know about a harness that has ended."""

    end: CommandResult
    transcript: Transcript
    """The harness's own account, which may be wrong or a lie."""
    traffic: ModelTraffic | None
    """What our relay carried; None without a relay: then only the transcript counts calls."""

    @property
    def answered(self) -> int:
        """Model calls that were answered."""
        return self.transcript.model_calls if self.traffic is None else self.traffic.answered

    @property
    def usage(self) -> Usage | None:
        """Tokens of all conversations; the transcript's only where the relay was told none.

        None where nobody knows: a transcript has the numbers of its first conversation alone.
        """
        traffic = self.traffic
        if traffic is None or not traffic.counted:
            return self.transcript.usage if len(self.transcript.sessions) <= 1 else None
        return traffic.usage

    @property
    def last_words(self) -> str:
        """The last error of the transcript, and the end of standard error."""
        errors = (*self.transcript.errors[-1:], self.end.errors.strip()[-500:])
        return "; ".join(errors).strip("; ")


async def attribute(evidence: Evidence, control: ModelControl) -> tuple[HarnessStatus, str]:
    """How the harness ended, and why; `control` asks the model from our side."""
    if evidence.answered == 0:
        return _unanswered(evidence)
    end, transcript = evidence.end, evidence.transcript
    clean = transcript.finished or not transcript.errors
    if end.return_code == 0 and not end.timed_out and clean:
        return HarnessStatus.OK, ""
    # It failed after a model had answered: its own fault, unless the model is gone now.
    fault = await control.fault()
    if fault:
        return HarnessStatus.UNREACHABLE_MODEL, fault
    if end.timed_out:
        return HarnessStatus.TIMEOUT, f"stopped after {end.duration_s:.0f} s"
    return HarnessStatus.HARNESS_FAILED, f"ended with {end.return_code}. {evidence.last_words}"


def _unanswered(evidence: Evidence) -> tuple[HarnessStatus, str]:
    """How a harness ended that never got an answer from the model."""
    end, traffic, errors = evidence.end, evidence.traffic, evidence.transcript.errors
    if end.box_failed:
        return HarnessStatus.BOX_FAILED, "the box went away before any model call"
    if traffic is not None and traffic.requests > 0:
        why = traffic.last_failure or f"{traffic.requests} calls, and no answer to any"
        return HarnessStatus.UNREACHABLE_MODEL, why
    if traffic is None and errors:
        return HarnessStatus.UNREACHABLE_MODEL, errors[-1]
    ended = "ran out of time" if end.timed_out else f"ended with {end.return_code}"
    return (
        HarnessStatus.NO_MODEL_CALL,
        f"it {ended} before any model call. {evidence.last_words}",
    )
