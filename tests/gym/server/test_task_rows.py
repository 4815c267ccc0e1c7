# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.gym_servers.in_process import make_root, make_row
from vibench_gym.core.errors import ConfigError, TaskInvalid
from vibench_gym.gym.rows.vibench_layout import known_exceptions
from vibench_gym.gym.server.task_rows import TaskRows
from vibench_gym.gym.wire import VibenchTask

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gym


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def row(**changes: object) -> VibenchTask:
    return VibenchTask.model_validate({**make_row(), **changes})


def test_a_row_chooses_and_orders_its_plans(root: Path) -> None:
    plans = ["prds/shop/tests/mvp/test2.txt", "prds/shop/tests/mvp/test1.txt"]

    assert [p.id for p in TaskRows(root).task(row(test_plans=plans)).plans] == [
        "mvp.test2",
        "mvp.test1",
    ]
    assert len(TaskRows(root).task(row(test_plans=plans[:1])).plans) == 1
    assert len(TaskRows(root).task(row(test_plans=[])).plans) == 2


@pytest.mark.parametrize(
    "plan",
    [
        "prds/shop/tests/mvp/test9.txt",
        "prds/shop/tests/feature1/test1.txt",
        "prds/shop/prd/mvp.txt",
        "prds/other/tests/mvp/test1.txt",
        "prds/shop/tests/mvp/../mvp/test1.txt",
        "tests/mvp/test1.txt",
        "/etc/passwd",
        "",
    ],
)
def test_a_plan_that_is_not_the_tasks_is_refused(root: Path, plan: str) -> None:
    with pytest.raises(TaskInvalid):
        TaskRows(root).task(row(test_plans=[plan]))


def test_a_plan_that_stands_twice_is_refused(root: Path) -> None:
    with pytest.raises(TaskInvalid, match="twice"):
        TaskRows(root).task(row(test_plans=["prds/shop/tests/mvp/test1.txt"] * 2))


@pytest.mark.parametrize("app", ["..", "a/b", "", ".hidden", "a\0b", "x" * 70])
def test_an_app_is_a_plain_name(root: Path, app: str) -> None:
    with pytest.raises(ConfigError, match="no app can be named"):
        TaskRows(root).task(row(app=app))


@pytest.mark.parametrize(
    "field", [{"prd_files": ["prds/shop/tests/mvp/test1.txt"]}, {"prd_files": ["/etc/passwd"]}]
)
def test_only_prds_are_given_as_prd(root: Path, field: dict[str, list[str]]) -> None:
    with pytest.raises(TaskInvalid, match="not below prds/shop/prd"):
        TaskRows(root).seed(row(**field))


@pytest.mark.parametrize(
    "folder", ["prds/shop/test_assets", "prds/shop/tests", "prds/shop/assets/../test_assets", "/"]
)
def test_only_builder_assets_are_given(root: Path, folder: str) -> None:
    with pytest.raises(TaskInvalid):
        TaskRows(root).seed(row(asset_dirs=[folder]))


def test_a_link_from_builder_assets_to_test_assets_is_refused(root: Path) -> None:
    (root / "prds/shop/assets/sneaky.txt").symlink_to("../test_assets/secret.txt")

    with pytest.raises(TaskInvalid, match="leads out of the builder's assets"):
        TaskRows(root).seed(row())


def test_assets_are_given_by_path_once_and_without_hidden_files(root: Path) -> None:
    assets = root / "prds/shop/assets"
    (assets / "icons").mkdir()
    (assets / "icons/a.png").write_bytes(b"\x89PNG")
    (assets / ".DS_Store").write_bytes(b"x")
    folders = ["prds/shop/assets", "prds/shop/assets/icons"]

    seed = TaskRows(root).seed(row(asset_dirs=folders))

    assert [asset.path for asset in seed.assets] == ["icons/a.png", "logo.svg"]


def test_assets_are_bounded(root: Path) -> None:
    (root / "prds/shop/assets/film.mp4").write_bytes(b"0" * 1001)

    with pytest.raises(TaskInvalid, match="more than 1000 bytes"):
        TaskRows(root, max_asset_bytes=1000).seed(row())


def test_an_asset_folder_that_is_not_there_is_told(root: Path) -> None:
    with pytest.raises(TaskInvalid, match="no folder of the task"):
        TaskRows(root).seed(row(asset_dirs=["prds/shop/assets/icons"]))


def test_prds_come_in_the_rows_order(root: Path) -> None:
    (root / "prds/shop/prd/feature1.txt").write_text("And a cart.", encoding="utf-8")
    prds = ["prds/shop/prd/mvp.txt", "prds/shop/prd/feature1.txt"]

    assert TaskRows(root).seed(row(prd_files=prds)).prd_text == "Build a shop.\n\nAnd a cart."
    assert TaskRows(root).seed(row(prd_files=[])).prd_text == "Build a shop."


def test_bundled_tasks_need_no_root_and_a_roots_own_come_first(root: Path) -> None:
    bundled = VibenchTask(app="pantry")
    make_root(root, "pantry", plans=1)

    assert len(TaskRows(None).task(bundled).plans) == 3
    assert len(TaskRows(root).task(bundled).plans) == 1
    assert len(TaskRows(root).task(VibenchTask(app="doodles")).plans) == 3


def test_a_known_exception_is_accepted_and_told(root: Path) -> None:
    plan = root / "prds/shop/tests/mvp/test1.txt"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace("<points>7</points>", ""), encoding="utf-8")
    known = {"shop": {"tests/mvp/test1.txt": "cut off"}}

    with pytest.raises(TaskInvalid):
        TaskRows(root).task(row())
    task = TaskRows(root, exceptions=known).task(row())
    assert task.known_exceptions == ("tests/mvp/test1.txt: cut off",)
    assert task.plan("mvp.test1").full_points == 3


def test_the_benchmarks_broken_plan_is_a_known_exception(vibench_root: Path) -> None:
    task = TaskRows(vibench_root).task(VibenchTask(app="wedding"))

    assert [text.partition(":")[0] for text in task.known_exceptions] == ["tests/mvp/test1.txt"]
    assert set(known_exceptions()) == {"wedding"}
    assert all(reason for plans in known_exceptions().values() for reason in plans.values())
