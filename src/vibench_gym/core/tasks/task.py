# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks: one app and one artifact of it, in ViBench's folder layout.

    <task>/prd/<artifact>.txt          what the builder is given
    <task>/tests/<artifact>/*.txt      test plans, for the grader only
    <task>/assets/  test_assets/       for the builder; for the grader only
    <task>/reference/<artifact>/       an app that should score 1.0
    <task>/mutants/<artifact>/  replay/<artifact>/  exceptions.yaml

`<feature>-on_mvp` is the feature's PRD and plans on top of the builder's own MVP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vibench_gym.core.errors import ConfigError, Problem, TaskInvalid
from vibench_gym.core.tasks.plan import TestPlan, scan_plan
from vibench_gym.core.tasks.files import TaskFolder, natural_key, unique_ids
from vibench_gym.core.tasks.yaml_file import read_yaml_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

MVP = "mvp"
ON_MVP = "-on_mvp"
_ARTIFACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Task:
    """One `(app, artifact)` pair; every path is below `root`."""

    name: str
    artifact: str
    root: Path
    prd: tuple[Path, ...]
    plans: tuple[TestPlan, ...]
    assets: Path | None = None
    test_assets: Path | None = None
    base_artifact: str | None = None
    """For a feature, the artifact it is built on top of."""
    needs_app_model: bool = False
    """Whether the app that is built calls a model while it is used."""
    known_exceptions: tuple[str, ...] = ()
    """Invalid plans that were accepted, each with its reason (rule 1)."""

    @property
    def source_artifact(self) -> str:
        """The artifact that PRD, plans and scripts are of: `feature1` for `feature1-on_mvp`."""
        return self.artifact.removesuffix(ON_MVP)

    @property
    def reference(self) -> Path | None:
        """The app that should score 1.0, where the task ships one."""
        return self._folder(f"reference/{self.source_artifact}")

    @property
    def base(self) -> Path | None:
        """The starting tree of a feature artifact, where the task ships one."""
        return self._folder(f"reference/{self.base_artifact}") if self.base_artifact else None

    @property
    def mutants(self) -> Path | None:
        """The folder of this artifact's mutants, where the task ships them."""
        return self._folder(f"mutants/{self.source_artifact}")

    def script(self, plan: TestPlan, role: Literal["qa", "seed"]) -> Path | None:
        """The replayed model's script for a plan, where the task ships one."""
        path = self.root / "replay" / self.source_artifact / f"{plan.stem}.{role}.yaml"
        return path if path.is_file() and TaskFolder(self.root).stays_inside(path) else None

    def plan(self, plan_id: str) -> TestPlan:
        """The plan of that id.

        Raises:
            KeyError: the task has no such plan.
        """
        for plan in self.plans:
            if plan.id == plan_id:
                return plan
        raise KeyError(plan_id)

    def _folder(self, relative: str) -> Path | None:
        path = self.root / relative
        return path if path.is_dir() and TaskFolder(self.root).stays_inside(path) else None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What stands below a benchmark's root, usable or not."""

    root: Path
    apps: int
    artifacts: int
    plans: int
    steps: int
    points: int
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Loaded:
    """One artifact as found: usable plans, how many files there were, what is wrong."""

    files: int = 0
    plans: list[TestPlan] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)


def load_task(
    task_dir: Path, artifact: str = MVP, *, exceptions: Mapping[str, str] | None = None
) -> Task:
    """Load one task, every plan checked.

    `exceptions` (plan path below the task root -> reason) adds to the task's `exceptions.yaml`.

    Raises:
        TaskInvalid: with every problem found.
    """
    files = TaskFolder(Path(task_dir))
    if _ARTIFACT.fullmatch(artifact) is None:
        raise TaskInvalid([files.problem(files.root, f"no artifact can be named {artifact!r}")])
    if not files.root.is_dir():
        raise TaskInvalid([files.problem(files.root, "no such task folder")])
    source_artifact = artifact.removesuffix(ON_MVP)
    known = {**_exceptions(files.root), **(exceptions or {})}
    loaded = _load_plans(files, source_artifact, artifact, known)
    loaded.problems += _check_parts(files, source_artifact)
    if errors := [problem for problem in loaded.problems if problem.severity == "error"]:
        raise TaskInvalid(errors)
    return Task(
        name=files.root.resolve().name,
        artifact=artifact,
        root=files.root,
        prd=(files.root / "prd" / f"{source_artifact}.txt",),
        plans=tuple(loaded.plans),
        assets=_existing(files.root / "assets"),
        test_assets=_existing(files.root / "test_assets"),
        base_artifact=None if source_artifact == MVP else MVP,
        known_exceptions=tuple(loaded.accepted),
    )


def artifacts_of(task_dir: Path) -> tuple[str, ...]:
    """The artifacts that a task has plans or a PRD for, `mvp` first."""
    tests, prd = task_dir / "tests", task_dir / "prd"
    names = {path.name for path in tests.iterdir() if path.is_dir()} if tests.is_dir() else set()
    if prd.is_dir():
        names |= {path.stem for path in prd.iterdir() if path.suffix == ".txt"}
    valid = (name for name in names if _ARTIFACT.fullmatch(name))
    return tuple(sorted(valid, key=lambda name: (name != MVP, natural_key(name))))


def load_benchmark(root: Path) -> Benchmark:
    """Look at every task below a root (a ViBench root, its `prds/`, or one task's folder).

    Raises:
        TaskInvalid: there is no task there at all.
    """
    root = Path(root)
    top = root / "prds" if (root / "prds").is_dir() else root
    tasks = [top] if _is_task(top) else _tasks_below(top)
    if not tasks:
        raise TaskInvalid([Problem(str(root), 1, "holds no task (a folder with prd/ and tests/)")])
    artifacts = plans = steps = points = 0
    problems: list[Problem] = []
    for task_dir in tasks:
        files = TaskFolder(task_dir)
        try:
            known = _exceptions(task_dir)
        except TaskInvalid as error:
            problems += error.problems
            known = {}
        for folder in ("assets", "test_assets"):
            problems += files.check_folder(files.root / folder)
        for artifact in artifacts_of(task_dir):
            loaded = _load_plans(files, artifact, artifact, known)
            artifacts += 1
            plans += loaded.files
            steps += sum(len(plan.steps) for plan in loaded.plans)
            points += sum(plan.full_points for plan in loaded.plans)
            problems += loaded.problems + _check_prd(files, artifact)
    problems = [_as_given(problem, top) for problem in problems]
    return Benchmark(root, len(tasks), artifacts, plans, steps, points, tuple(problems))


def bundled_tasks_dir() -> Path:
    """The tasks that come with this package: in a wheel, else in the checkout.

    Raises:
        ConfigError: neither is there.
    """
    package = Path(__file__).resolve().parents[2]
    for candidate in (package / "_tasks", package.parent.parent / "tasks"):
        if candidate.is_dir():
            return candidate
    raise ConfigError(f"no bundled tasks beside {str(package)!r}; name a task folder instead")


def list_bundled() -> tuple[Path, ...]:
    """The folders of the bundled tasks, by name.

    Raises:
        ConfigError: as `bundled_tasks_dir`.
    """
    return tuple(_tasks_below(bundled_tasks_dir()))


def _is_task(folder: Path) -> bool:
    return (folder / "tests").is_dir() or (folder / "prd").is_dir()


def _tasks_below(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    visible = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in visible if _is_task(path))


def _existing(folder: Path) -> Path | None:
    return folder if folder.is_dir() else None


def _exceptions(task_dir: Path) -> dict[str, str]:
    path = task_dir / "exceptions.yaml"
    if not path.exists():
        return {}
    return {key: str(value) for key, value in read_yaml_mapping(path).items()}


def _load_plans(files: TaskFolder, source_artifact: str, artifact: str, known: Mapping[str, str]) -> _Loaded:
    folder = files.root / "tests" / source_artifact
    paths, problems = files.text_files(folder)
    loaded = _Loaded(files=len(paths), problems=problems)
    if not paths and not problems:
        loaded.problems.append(files.problem(folder, "has no test plans (*.txt)"))
    ids = unique_ids(artifact, (path.stem for path in paths))
    for path, plan_id in zip(paths, ids, strict=True):
        text, problems = files.read_text(path)
        source = files.relative(path)
        plan = None
        if text is not None:
            plan, found = scan_plan(text, source, plan_id)
            problems = [Problem(str(path), p.line, p.message, p.severity) for p in found]
        if plan is not None:
            loaded.plans.append(plan)
            if source in known and any(problem.severity == "error" for problem in problems):
                loaded.accepted.append(f"{source}: {known[source]}")
                problems = [_accepted(problem, known[source]) for problem in problems]
        loaded.problems += problems
    return loaded


def _accepted(problem: Problem, reason: str) -> Problem:
    message = f"{problem.message} (accepted as a known exception: {reason})"
    return Problem(problem.file, problem.line, message, "warning")


def _check_prd(files: TaskFolder, source_artifact: str) -> list[Problem]:
    return files.read_text(files.root / "prd" / f"{source_artifact}.txt")[1]


def _check_parts(files: TaskFolder, source_artifact: str) -> list[Problem]:
    problems = _check_prd(files, source_artifact)
    for name in ("assets", "test_assets"):
        problems += files.check_folder(files.root / name)
    return problems


def _as_given(problem: Problem, top: Path) -> Problem:
    """Name the file as the operator named the root, not by its absolute path."""
    path = Path(problem.file)
    if path.is_absolute() and not top.is_absolute():
        path = top / path.relative_to(top.absolute())
    return Problem(str(path), problem.line, problem.message, problem.severity)
