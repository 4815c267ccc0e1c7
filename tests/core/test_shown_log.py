# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An app's text makes no line of a log, and no terminal obeys one that is looked at."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import vibench_gym
from vibench_gym.core.shown_log import shown_logger

if TYPE_CHECKING:
    import pytest

FORGED = "gone\x1b[2J\nINFO all plans passed"


def test_a_line_of_a_log_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    logger = shown_logger("vibench_gym.test_shown_log")
    assert shown_logger("vibench_gym.test_shown_log") is logger
    assert len(logger.filters) == 1
    logger.error("the app says %s", FORGED)
    assert caplog.records[0].getMessage() == (
        "the app says gone\\u001b[2J\n  | INFO all plans passed"
    )
    assert "\x1b" not in caplog.text


def test_a_trace_in_a_log_is_shown_too(caplog: pytest.LogCaptureFixture) -> None:
    logger = shown_logger("vibench_gym.test_shown_log")
    logger.error("failed", exc_info=ValueError(FORGED))
    text = logging.Formatter().format(caplog.records[0])
    assert "ValueError: gone\\u001b[2J" in text
    assert "\x1b" not in text
    assert "\nINFO" not in text


def test_no_module_has_a_logger_of_another_kind() -> None:
    root = Path(vibench_gym.__file__).parent
    asked = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "getLogger"
    ]
    assert asked == ["core/shown_log.py"]
