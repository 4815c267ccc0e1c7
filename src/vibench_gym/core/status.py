# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The closed sets of statuses (scoring.md, rule 10)."""

from __future__ import annotations

from enum import StrEnum


class ArtifactStatus(StrEnum):
    """What became of the artifact; anything but `ok` is a failed build: reward exactly 0.0."""

    OK = "ok"
    MISSING = "missing"
    REJECTED = "rejected"
    TOO_LARGE = "too_large"
    NOT_BUILDABLE = "not_buildable"


class PlanStatus(StrEnum):
    """How one plan ended; exactly one per plan."""

    GRADED = "graded"
    SETUP_FAILED = "setup_failed"
    START_FAILED = "start_failed"
    APP_CRASHED = "app_crashed"
    SEEDING_FAILED = "seeding_failed"
    GRADER_FAILED = "grader_failed"


class StepOutcome(StrEnum):
    """What a step came to; only `passed` scores."""

    PASSED = "passed"
    FAILED = "failed"
    BLOCKED = "blocked"
    NOT_REACHED = "not_reached"


class CheckOutcome(StrEnum):
    """What one action or verification inside a step came to."""

    PASSED = "passed"
    FAILED = "failed"
    BLOCKED = "blocked"
