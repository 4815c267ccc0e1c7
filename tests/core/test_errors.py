# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect

import pytest
from pydantic import ValidationError

from vibench_gym.core import errors
from vibench_gym.core.config import ArchiveBudget, ProcessLimits
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.core.tool import ToolCall, ToolResult


def test_every_error_has_exactly_one_owner() -> None:
    owners = (errors.SubmissionFault, errors.GraderFault, errors.OperatorFault)
    for _, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.VibenchGymError) and error is not errors.VibenchGymError:
            assert sum(issubclass(error, owner) for owner in owners) == 1


def test_every_graders_fault_has_a_kind_of_its_own() -> None:
    kinds = [error.failure_kind for error in errors.GraderFault.__subclasses__()]
    assert len(set(kinds)) == len(kinds)
    assert errors.GraderFault.failure_kind not in kinds


def test_errors_say_what_to_do() -> None:
    missing = errors.PrerequisiteMissing("no Chromium", "apt install chromium")
    assert str(missing) == "no Chromium. To fix it: apt install chromium"
    assert (missing.what, missing.fix) == ("no Chromium", "apt install chromium")
    problem = errors.Problem("a.txt", 3, "bad")
    assert str(errors.TaskInvalid([problem, problem])) == "a.txt:3: bad\na.txt:3: bad"
    assert errors.ArtifactRejected(ArtifactStatus.MISSING, "none").status == "missing"


def test_settings_are_frozen_and_know_their_names() -> None:
    with pytest.raises(ValidationError):
        ArchiveBudget.model_validate({"member": 1})
    with pytest.raises(ValidationError):
        ProcessLimits(processes=0)


def test_tool_types() -> None:
    assert ToolCall("1", "click", None).raw_arguments == ""
    assert not ToolResult("done").is_error
