# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import ConfigError, TaskInvalid
from vibench_gym.core.tasks import task as task_module
from vibench_gym.core.tasks.files import (
    MAX_FILES,
    TaskFolder,
    folder_name,
    natural_key,
    unique_ids,
)
from vibench_gym.core.tasks.task import (
    artifacts_of,
    bundled_tasks_dir,
    list_bundled,
    load_benchmark,
    load_task,
)
from vibench_gym.core.tasks.yaml_file import MAX_YAML_BYTES, read_yaml_mapping

if TYPE_CHECKING:
    from pathlib import Path

PLAN = (
    "<test_plan><purpose>p</purpose><seeding_and_precondition>N/A</seeding_and_precondition>"
    "<steps><step><name>a</name>x<points>2</points></step></steps>"
    "<full_points>{full}</full_points></test_plan>"
)


def problems_of(task_dir: Path, artifact: str = "mvp") -> str:
    with pytest.raises(TaskInvalid) as caught:
        load_task(task_dir, artifact)
    return str(caught.value)


def test_a_task_knows_its_parts(task_dir: Path) -> None:
    (task_dir / "assets").mkdir()
    (task_dir / "assets/logo.png").write_bytes(b"x")
    (task_dir / "replay/mvp/test1.qa.yaml").write_text("role: qa")
    task = load_task(task_dir)
    assert (task.name, task.artifact, task.source_artifact) == ("shop", "mvp", "mvp")
    assert task.prd == (task_dir / "prd/mvp.txt",)
    assert [plan.id for plan in task.plans] == ["mvp.test1"]
    assert task.plans[0].source == "tests/mvp/test1.txt"
    assert task.plan("mvp.test1") is task.plans[0]
    with pytest.raises(KeyError):
        task.plan("mvp.test2")
    assert task.assets == task_dir / "assets"
    assert task.test_assets is None
    assert task.reference == task_dir / "reference/mvp"
    assert task.mutants == task_dir / "mutants/mvp"
    assert task.base is None
    assert task.script(task.plans[0], "qa") == task_dir / "replay/mvp/test1.qa.yaml"
    assert task.script(task.plans[0], "seed") is None


def test_a_feature_stands_on_its_mvp(task_dir: Path) -> None:
    (task_dir / "prd/feature1.txt").write_text("More.")
    (task_dir / "tests/feature1").mkdir()
    (task_dir / "tests/feature1/test1.txt").write_text(PLAN.format(full=2))
    task = load_task(task_dir, "feature1")
    assert (task.base_artifact, task.base) == ("mvp", task_dir / "reference/mvp")
    assert task.reference is None
    on_mvp = load_task(task_dir, "feature1-on_mvp")
    assert on_mvp.source_artifact == "feature1"
    assert [plan.id for plan in on_mvp.plans] == ["feature1-on_mvp.test1"]
    assert artifacts_of(task_dir) == ("mvp", "feature1")


def test_plans_come_in_natural_order_with_ids_that_are_safe_folder_names(task_dir: Path) -> None:
    folder = task_dir / "tests/mvp"
    (folder / "nested").mkdir()
    for name in ("test10.txt", "test2.txt", "app.txt", "a b.txt", "a-b.txt", "nested/test1.txt"):
        (folder / name).write_text(PLAN.format(full=2))
    (folder / ".hidden.txt").write_text("no plan")
    (folder / "readme.md").write_text("no plan")
    ids = [plan.id for plan in load_task(task_dir).plans]
    assert ids == [
        "mvp.a-b",
        "mvp.a-b-2",
        "mvp.app",
        "mvp.test1",
        "mvp.test1-2",
        "mvp.test2",
        "mvp.test10",
    ]


def test_ids_differ_by_more_than_case_and_are_never_empty() -> None:
    assert unique_ids("m", ["A", "a", "..", "é" * 500]) == ["m.A", "m.a-2", "m.plan", "m.plan-2"]
    assert folder_name("x" * 300) == "x" * 100
    assert folder_name("/X rays/") == "X-rays"
    assert natural_key("a2") < natural_key("a10")


@pytest.mark.parametrize("artifact", ["", "../mvp", "a/b", ".", "x" * 65])
def test_an_artifact_is_a_name_not_a_path(task_dir: Path, artifact: str) -> None:
    assert "no artifact can be named" in problems_of(task_dir, artifact)


def test_what_is_not_there_is_named(task_dir: Path) -> None:
    assert "no such task folder" in problems_of(task_dir / "nowhere")
    message = problems_of(task_dir, "feature9")
    assert "has no test plans" in message
    assert "prd/feature9.txt:1: is missing" in message


def test_every_problem_is_told_at_once_with_file_and_line(task_dir: Path) -> None:
    (task_dir / "tests/mvp/bad.txt").write_text(PLAN.format(full=3))
    (task_dir / "tests/mvp/latin.txt").write_bytes(b"\xe9")
    message = problems_of(task_dir)
    assert "tests/mvp/bad.txt:1: <full_points> declares 3" in message
    assert "tests/mvp/latin.txt:1: is not UTF-8" in message


def test_a_known_exception_is_accepted_and_told(task_dir: Path) -> None:
    (task_dir / "tests/mvp/bad.txt").write_text(PLAN.format(full=3))
    task = load_task(task_dir, exceptions={"tests/mvp/bad.txt": "cut upstream"})
    assert task.known_exceptions == ("tests/mvp/bad.txt: cut upstream",)
    (task_dir / "exceptions.yaml").write_text("tests/mvp/bad.txt: by file\n")
    (warning,) = load_benchmark(task_dir).problems
    assert "accepted as a known exception: by file" in warning.message
    assert load_task(task_dir).known_exceptions == ("tests/mvp/bad.txt: by file",)


def test_a_plan_that_cannot_be_graded_is_no_exception(task_dir: Path) -> None:
    (task_dir / "tests/mvp/bad.txt").write_text("nothing")
    (task_dir / "exceptions.yaml").write_text("tests/mvp/bad.txt: please\n")
    assert "has no <test_plan>" in problems_of(task_dir)


def test_nothing_is_read_through_links_out_of_the_task(task_dir: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(PLAN.format(full=2))
    (task_dir / "tests/mvp/evil.txt").symlink_to(outside)
    (task_dir / "assets").mkdir()
    (task_dir / "assets/evil").symlink_to(outside)
    (task_dir / "test_assets").symlink_to(tmp_path)
    message = problems_of(task_dir)
    assert "evil.txt:1: is missing or leads out of the task folder" in message
    assert "assets/evil:1: leads out of the task folder" in message
    assert "test_assets:1: leads out of the task folder" in message


def test_links_inside_the_task_are_fine(task_dir: Path) -> None:
    (task_dir / "tests/mvp/again.txt").symlink_to("test1.txt")
    assert len(load_task(task_dir).plans) == 2


def test_special_files_and_folders_are_named(task_dir: Path) -> None:
    os.mkfifo(task_dir / "tests/mvp/fifo.txt")
    (task_dir / "assets").mkdir()
    os.mkfifo(task_dir / "assets/fifo")
    (task_dir / "tests/mvp/loop.txt").symlink_to("loop.txt")
    message = problems_of(task_dir)
    assert "tests/mvp/fifo.txt:1: is not a regular file" in message
    assert "assets/fifo:1: is not a regular file" in message
    assert "loop.txt:1: is missing or leads out" in message


def test_a_plan_that_is_a_socket_cannot_be_read(task_dir: Path) -> None:
    import socket  # noqa: PLC0415 - only here

    path = task_dir / "tests/mvp/s.txt"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))
        assert "s.txt:1: cannot be read" in problems_of(task_dir)


def test_a_dependency_tree_among_the_assets_is_a_mistake(
    task_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_FILES == 20_000
    monkeypatch.setattr("vibench_gym.core.tasks.files.MAX_FILES", 2)
    (task_dir / "assets").mkdir()
    for number in range(3):
        (task_dir / f"assets/{number}").write_text("")
    assert "assets:1: holds more than 2 files" in problems_of(task_dir)


def test_a_relative_root_becomes_absolute(task_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task_dir.parent)
    assert TaskFolder(task_dir.relative_to(task_dir.parent)).root == task_dir


class TestYamlFiles:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"a: [1", "is no YAML"),
            (b"- 1", "is not a mapping"),
            (b"\x00", "is no YAML"),
            (b"a: " + b"[" * 5000, "is no YAML"),
            (b"#" * (MAX_YAML_BYTES + 1), "is larger than"),
        ],
    )
    def test_what_is_wrong_is_told(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "x.yaml"
        path.write_bytes(content)
        with pytest.raises(TaskInvalid, match=message):
            read_yaml_mapping(path)

    def test_empty_is_an_empty_mapping(self, tmp_path: Path) -> None:
        path = tmp_path / "x.yaml"
        path.write_text("# nothing\n")
        assert read_yaml_mapping(path) == {}

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(TaskInvalid, match="cannot be read"):
            read_yaml_mapping(tmp_path / "x.yaml")


class TestBenchmark:
    def test_counts_and_problems(self, task_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = task_dir.parent
        (task_dir / "tests/mvp/bad.txt").write_text(PLAN.format(full=3))
        (task_dir / "tests/mvp/none.txt").write_text("")
        (task_dir / "exceptions.yaml").write_text("[")
        (root / "notes.txt").write_text("no task")
        monkeypatch.chdir(root.parent)
        found = load_benchmark(root.relative_to(root.parent))
        assert (found.apps, found.artifacts, found.plans, found.steps, found.points) == (
            1,
            1,
            3,
            3,
            7,
        )
        assert [problem.file for problem in found.problems] == [
            f"{root.name}/shop/exceptions.yaml",
            f"{root.name}/shop/tests/mvp/bad.txt",
            f"{root.name}/shop/tests/mvp/none.txt",
        ]

    def test_one_task_is_a_benchmark_too(self, task_dir: Path) -> None:
        assert load_benchmark(task_dir).plans == 1

    def test_plans_alone_make_a_task(self, task_dir: Path) -> None:
        (task_dir / "prd").rename(task_dir / "notes")
        assert load_benchmark(task_dir.parent).plans == 1

    def test_artifacts_come_from_plans_and_prds(self, task_dir: Path) -> None:
        (task_dir / "prd/feature1.txt").write_text("no plans")
        (task_dir / "prd/base-prd.md").write_text("no artifact")
        assert artifacts_of(task_dir) == ("mvp", "feature1")
        assert artifacts_of(task_dir / "prd") == ()
        messages = [problem.message for problem in load_benchmark(task_dir).problems]
        assert messages == ["has no test plans (*.txt)"]

    @pytest.mark.parametrize("name", ["", "nowhere"])
    def test_no_task_at_all(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(TaskInvalid, match="holds no task"):
            load_benchmark(tmp_path / name)

    def test_the_real_benchmark(self, vibench_root: Path) -> None:
        found = load_benchmark(vibench_root)
        counts = (found.apps, found.artifacts, found.plans, found.steps, found.points)
        assert counts == (24, 92, 306, 1937, 14441)
        [problem] = found.problems
        assert problem.file.endswith("wedding/tests/mvp/test1.txt")
        assert problem.line == 50
        assert "declared 55" in problem.message
        assert load_benchmark(vibench_root / "prds").problems == found.problems

    def test_plans_that_need_seeding(self, vibench_root: Path) -> None:
        plans = [
            plan
            for app in sorted((vibench_root / "prds").iterdir())
            if app.is_dir()
            for artifact in artifacts_of(app)
            for plan in load_task(
                app, artifact, exceptions={"tests/mvp/test1.txt": "cut upstream"}
            ).plans
        ]
        assert sum(plan.needs_seeding for plan in plans) == 103


class TestBundled:
    def test_every_bundled_task_is_valid(self) -> None:
        for folder in list_bundled():
            for artifact in artifacts_of(folder):
                assert load_task(folder, artifact).plans

    def test_neither_wheel_nor_checkout(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(task_module, "__file__", str(tmp_path / "a/b/c/d/task.py"))
        with pytest.raises(ConfigError, match="no bundled tasks"):
            bundled_tasks_dir()

    def test_a_wheel_carries_its_tasks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "_tasks").mkdir()
        monkeypatch.setattr(task_module, "__file__", str(tmp_path / "core/tasks/task.py"))
        assert bundled_tasks_dir() == tmp_path / "_tasks"
        assert list_bundled() == ()
