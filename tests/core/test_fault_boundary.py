# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio

import pytest

from vibench_gym.core.errors import AppCrashed, ConfigError, GraderFault, SandboxUnavailable
from vibench_gym.core.fault_boundary import fault_boundary


def test_what_nobody_foresaw_is_a_graders_fault_that_says_where(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(GraderFault) as caught, fault_boundary("plan a"):
        raise KeyError("key")
    assert str(caught.value) == "a defect of the grader: KeyError('key')"
    assert caught.value.failure_kind == "grader_fault"
    assert isinstance(caught.value.__cause__, KeyError)
    assert 'raise KeyError("key")' in (caught.value.defect_trace or "")
    assert "plan a: a defect of the grader" in caplog.text
    assert 'raise KeyError("key")' in caplog.text


@pytest.mark.parametrize("error", [AppCrashed("a"), SandboxUnavailable("b"), ConfigError("c")])
def test_errors_of_the_tree_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, fault_boundary("plan a"):
        raise error
    assert caught.value is error
    assert getattr(error, "defect_trace", None) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_ends_from_outside_pass(error: BaseException) -> None:
    with pytest.raises(type(error)), fault_boundary("plan a", foreseen=()):
        raise error


def test_an_error_of_the_tree_that_is_not_foreseen_is_a_defect() -> None:
    with (
        pytest.raises(GraderFault, match="a defect of the grader: AppCrashed"),
        fault_boundary("plan a", foreseen=(GraderFault,)),
    ):
        raise AppCrashed("it should have been an outcome")


def test_with_secrets_only_cleaned_text_is_logged_and_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        pytest.raises(GraderFault) as caught,
        fault_boundary("plan a", clean=lambda text: text.replace("s3cret", "[redacted]")),
    ):
        raise ValueError("s3cret")
    assert str(caught.value) == "a defect of the grader: ValueError"
    assert "plan a: a defect of the grader: " in caplog.text
    assert "[redacted]" in caplog.text
    for text in (caplog.text, caught.value.defect_trace or ""):
        assert "s3cret" not in text
