# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a builder may dig out of the history of the app that its feature is built on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from support.attacks.case import redteam
from support.counter_app import write_app
from support.grading import make_plan, make_task
from vibench_gym.core.artifact import ArtifactStore
from vibench_gym.core.errors import TaskInvalid
from vibench_gym.gym.rows.starting_tree import store_tree

if TYPE_CHECKING:
    from pathlib import Path

    from support.attacks.case import Seen

pytestmark = pytest.mark.gym


def commit(tree: Path, message: str) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (["add", "-A"], ["commit", "-qm", message]):
        subprocess.run([*git, "-C", str(tree), *command], check=True, capture_output=True)


@pytest.mark.parametrize(
    "form", [[], ["gc", "-q"], ["--sha256"]], ids=["loose", "packed", "sha256"]
)
@redteam(
    "build_box",
    gain="know the test plan: it was once committed beside the app that a feature starts from",
    expected="the tree is not handed out",
    defences=["no_plan_in_history"],
)
def test_a_plan_in_the_history(tmp_path: Path, form: list[str], seen: Seen) -> None:
    plan = make_plan()
    store, tree = ArtifactStore(tmp_path / "store"), write_app(tmp_path / "app")
    kind = ["--object-format=sha256"] if form == ["--sha256"] else []
    subprocess.run(["git", "init", "-q", *kind, str(tree)], check=True)
    commit(tree, "The first.")
    honest = store_tree(tree, store, make_task(plan))

    (tree / "notes.txt").write_text(plan.text, encoding="utf-8")
    commit(tree, "Notes.")
    (tree / "notes.txt").unlink()
    commit(tree, "No notes.")
    if form == ["gc", "-q"]:
        subprocess.run(["git", "-C", str(tree), *form], check=True)

    assert store.path(honest).is_file()
    with pytest.raises(TaskInvalid, match="a test plan in the history"):
        store_tree(tree, store, make_task(plan))
    seen("refused; the tree without that history is handed out")
