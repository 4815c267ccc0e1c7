# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts: what was seen, never a number (an LLM writes no number that becomes a reward)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from vibench_gym.core.status import CheckOutcome, StepOutcome


class Evidence(BaseModel):
    """One observation that the grader itself captured; `seq` orders them within the plan."""

    model_config = ConfigDict(frozen=True)

    id: str
    seq: int
    step: str
    tool: str
    summary: str = ""
    screenshot: str | None = None
    """File name below the plan's `screenshots/`, None where none was taken."""


class Check(BaseModel):
    """One action or verification that the QA agent judged."""

    model_config = ConfigDict(frozen=True)

    text: str
    outcome: CheckOutcome
    fatal: bool
    """Whether a failure of it ends the plan: the step's text decides (rule 2).

    For a check that passed this is what was known without a failure: False where its quote, or its
    own text, is a sentence of the step that allows a failure."""
    reason: str = ""
    quote: str = ""
    """The sentence of the step that makes it non-fatal; empty for a fatal check."""
    evidence: tuple[str, ...] = ()
    first_look: tuple[str, ...] = ()
    """Observations of the first look where a second one was taken (rule 8)."""


class StepVerdict(BaseModel):
    """What one step came to. `failed_check` names the first check that did not pass."""

    model_config = ConfigDict(frozen=True)

    step: str
    outcome: StepOutcome
    fatal: bool = False
    failed_check: str | None = None
    reason: str = ""
    checks: tuple[Check, ...] = ()
    evidence: tuple[str, ...] = ()
    """Ids of the observations captured during this step; a pass needs one (rule 7)."""
