# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def task_dir(tmp_path: Path) -> Path:
    """A small valid task."""
    root = tmp_path / "shop"
    for folder in ("prd", "tests/mvp", "reference/mvp", "mutants/mvp", "replay/mvp"):
        (root / folder).mkdir(parents=True)
    (root / "prd/mvp.txt").write_text("Build a shop.")
    (root / "tests/mvp/test1.txt").write_text(plan_text())
    (root / "reference/mvp/app.py").write_text("total = price * quantity\n")
    return root


def plan_text(
    *steps: str, full: str = "<full_points>5</full_points>", precondition: str = "N/A"
) -> str:
    body = "\n".join(steps) or (
        "<step><name>first</name>Click. <points>2</points></step>"
        "<step><name>second</name>Look. <points>3</points></step>"
    )
    return (
        "<test_plan><purpose>Buy things.</purpose>"
        f"<seeding_and_precondition>{precondition}</seeding_and_precondition>\n"
        f"<steps>{body}</steps>\n{full}</test_plan>\n"
    )
