# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How a box is started."""

from __future__ import annotations

import os

import pytest

from vibench_gym.core.config import ProcessLimits
from vibench_gym.sandbox.zone.daemon import boxes


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be refused as root")
def test_bubblewrap_is_never_started_by_root() -> None:
    with pytest.raises(PermissionError, match="never runs as root"):
        boxes._refuse_root()


def test_limits_are_plain_numbers() -> None:
    assert all(isinstance(value, int) for value in ProcessLimits().model_dump().values())
