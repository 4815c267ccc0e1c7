# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test measures time: the machine may be busy with others.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def vibench_root() -> Path:
    """The benchmark's data, where it stands beside the checkout."""
    root = Path(os.environ.get("VIBENCH_ROOT", REPO.parent / "shared" / "vibench"))
    if not (root / "prds").is_dir():
        pytest.skip("no ViBench data; set VIBENCH_ROOT")
    return root


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
