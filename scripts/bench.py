# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measures the flow as ratios against a baseline of the same run.

Baseline: the same app from scratch (initdb and set-up again). Measured: a fresh stack from the
snapshot, what an idle stack costs in memory, and what a graded plan spends on anything that is
neither the model nor the app. A bound that does not hold ends the program with exit code 1.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vibench_gym.core.config import MIB, GraderConfig, StackConfig
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.tasks.task import Task, bundled_tasks_dir, load_task
from vibench_gym.grading.browser_launcher import PlaywrightLauncher
from vibench_gym.grading.grader import Grader
from vibench_gym.grading.model_sources import ReplayModels
from vibench_gym.stack.cache import cache_root
from vibench_gym.stack.local.builder import LocalStackBuilder

TASK = "pantry"
FRESH_STACKS = 15
SCRATCH_RUNS = 3
GRADED_RUNS = 3
FRESH_BOUND_S = 0.5
OVERHEAD_BOUND_S = 3.0
# Phases of a plan that are the model's or the app's; everything else is ours.
NOT_OURS = {
    "queue",
    "qa_model",
    "seeding_model",
    "seeding_shell",
    "app_wait",
    "app_start",
    "seed_apply",
    "seeding_stack",
    "qa_second_look",
}


@dataclass(frozen=True, slots=True)
class Fresh:
    """One fresh stack: seconds without the app's own start, seconds of the start, bytes idle."""

    ours_s: float
    app_s: float
    idle_bytes: int


async def from_scratch(reference: Path) -> float:
    """Seconds for a first stack with nothing made before: template, set-up, stack (no app start).

    The registry mirror's cache is kept: downloads are not what is measured.
    """
    with tempfile.TemporaryDirectory(prefix="vibench-gym-bench-") as folder:
        cache = Path(folder)
        mirror = cache_root(StackConfig()) / "mirror"
        if mirror.is_dir():
            (cache / "mirror").symlink_to(mirror)
        builder = LocalStackBuilder(StackConfig(cache_dir=cache))
        start = time.perf_counter()
        prepared = await builder.prepare(reference)
        try:
            stack = prepared.stack()
            async with stack:
                return time.perf_counter() - start - stack.timings.get("app_start", 0.0)
        finally:
            await prepared.close()


async def fresh_stacks(reference: Path) -> list[Fresh]:
    """Stacks from one snapshot, one after the other."""
    prepared = await LocalStackBuilder(StackConfig()).prepare(reference)
    found = []
    try:
        for _ in range(FRESH_STACKS):
            stack = prepared.stack()
            start = time.perf_counter()
            async with stack:
                whole = time.perf_counter() - start
                app = stack.timings.get("app_start", 0.0)
                usage = await stack.usage()
            found.append(Fresh(whole - app, app, usage.memory_bytes))
    finally:
        await prepared.close()
    return found


async def plan_overheads(task: Task) -> list[float]:
    """Seconds per graded plan that are neither the model's nor the app's."""
    assert task.reference is not None  # noqa: S101 (the bundled task ships one)
    found = []
    with tempfile.TemporaryDirectory(prefix="vibench-gym-bench-") as folder:
        run = RunDir(Path(folder))
        async with ReplayModels(task) as models:
            grader = Grader(
                stacks=LocalStackBuilder(StackConfig()),
                models=models,
                browsers=PlaywrightLauncher(),
                config=GraderConfig(concurrency=1),
            )
            for _ in range(GRADED_RUNS):
                rollout = run.rollout(task, "bench")
                await grader.grade(task, task.reference, rollout=rollout, label="bench")
                for plan in rollout.plans():
                    record = plan.read_record()
                    if record is not None:
                        timings = record.timings
                        found.append(sum(t.seconds for t in timings if t.phase not in NOT_OURS))
    return found


async def measure() -> bool:
    """Print the table; True when both bounds hold."""
    task = load_task(bundled_tasks_dir() / TASK)
    if task.reference is None:
        raise SystemExit(f"task {TASK!r} ships no reference app")
    scratch = [await from_scratch(task.reference) for _ in range(SCRATCH_RUNS)]
    fresh = await fresh_stacks(task.reference)
    overheads = await plan_overheads(task)
    baseline = statistics.median(scratch)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, justify in (("", "left"), ("median", "right"), ("max", "right"), ("ratio", "right")):
        table.add_column(name, justify="right" if justify == "right" else "left")

    def row(name: str, seconds: list[float]) -> float:
        median = statistics.median(seconds)
        ratio = f"{median / baseline:.3f}"
        table.add_row(name, f"{median:.3f} s", f"{max(seconds):.3f} s", ratio)
        return median

    row("stack from scratch: initdb, set-up (baseline)", scratch)
    ours = row("fresh stack from the snapshot, without the app's start", [f.ours_s for f in fresh])
    row("the app's own start", [f.app_s for f in fresh])
    overhead = row("per plan, neither model nor app", overheads)
    idle = statistics.median(f.idle_bytes for f in fresh) / MIB
    console = Console()
    console.print(table)
    console.print(f"memory per idle stack: {idle:.0f} MiB")
    held = ours <= FRESH_BOUND_S and overhead <= OVERHEAD_BOUND_S
    console.print(
        f"bounds: fresh stack <= {FRESH_BOUND_S} s, per plan <= {OVERHEAD_BOUND_S} s: "
        f"{'held' if held else 'NOT HELD'}"
    )
    return held


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(measure()) else 1)
