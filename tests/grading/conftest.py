# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A grader with nothing real beneath it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.grading_lab import Lab

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)
