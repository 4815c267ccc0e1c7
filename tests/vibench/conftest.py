# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A real checkout of ViBench, and scripts for its plans that hold nothing of the plans themselves.

A script here is a replay script (docs/replay.md) with holes that are filled from the plan at hand:

    steps      without names: they are the plan's, in its order
    words      what to type and to look for: `{step: 3, code: 1}` is the first text in backticks of
               the third step; `quote` counts texts in double quotes, `block` fenced ones, of which
               `line` takes a single line. `<name>` stands for it; in patterns it is escaped
    non_fatal  a number: the step's passage with that mark, counted from 1; `continue`: the item
               that says to go on
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from vibench_gym.core.tasks.references import CHECKOUT_RESULTS, CHECKOUT_TREE
from vibench_gym.core.tasks.task import load_task

if TYPE_CHECKING:
    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task

SCRIPTS = Path(__file__).parent
NO_CHECKOUT = "no ViBench checkout: set VIBENCH_ROOT to one that has results/"

_BLOCK = re.compile(r"```\w*\n(.*?)\n```", re.DOTALL)
_PLACES = {"code": re.compile(r"`([^`\n]+)`"), "quote": re.compile(r'"([^"\n]+)"')}
_PATTERNS = ("see", "not_see", "capture")
_HOLE = re.compile(r"<(\w+)>")


def _checkout() -> Path | None:
    root = Path(os.environ.get("VIBENCH_ROOT") or "/nonexistent")
    return root if (root / CHECKOUT_RESULTS).is_dir() and (root / "prds").is_dir() else None


@pytest.fixture(scope="session")
def checkout() -> Path:
    root = _checkout()
    return root if root is not None else pytest.skip(NO_CHECKOUT)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per reference implementation of the checkout."""
    if "reference" not in metafunc.fixturenames:
        return
    root = _checkout()
    apps = sorted((root / CHECKOUT_RESULTS).glob(f"*/{CHECKOUT_TREE}")) if root else []
    skipped = pytest.param(None, id="none", marks=pytest.mark.skip(reason=NO_CHECKOUT))
    found = [pytest.param(path, id=path.relative_to(path.parents[2]).parts[0]) for path in apps]
    metafunc.parametrize("reference", found or [skipped])


@pytest.fixture
def notes(checkout: Path, tmp_path: Path) -> Task:
    """The checkout's `notes`, with our scripts filled in for its plans."""
    folder = tmp_path / "prds" / "notes"
    for part in ("prd", "tests"):
        shutil.copytree(checkout / "prds" / "notes" / part, folder / part)
    replay = folder / "replay" / "mvp"
    replay.mkdir(parents=True)
    for plan in load_task(folder).plans:
        script = yaml.safe_load((SCRIPTS / "notes" / f"{plan.stem}.yaml").read_text("utf-8"))
        text = yaml.safe_dump(filled(script, plan), allow_unicode=True, sort_keys=False, width=1000)
        (replay / f"{plan.stem}.qa.yaml").write_text(text, encoding="utf-8")
    return load_task(folder)


def filled(script: dict[str, Any], plan: TestPlan) -> dict[str, Any]:
    """The replay script for this plan."""
    words = {name: _word(plan, **where) for name, where in script["words"].items()}
    steps = []
    for step, written in zip(plan.steps, script["steps"], strict=True):
        items = _fill(written["script"], words, step.prose, pattern=False)
        steps.append({"name": step.name, "script": items})
    return {"role": "qa", "steps": steps}


def _word(plan: TestPlan, *, step: int, line: int | None = None, **place: int) -> str:
    ((kind, number),) = place.items()
    prose = plan.steps[step - 1].prose
    if kind == "block":
        text = _BLOCK.findall(prose)[number - 1]
        return str(text if line is None else text.splitlines()[line - 1])
    return str(_PLACES[kind].findall(_BLOCK.sub("", prose))[number - 1])


def _fill(value: Any, words: dict[str, str], prose: str, *, pattern: bool) -> Any:
    if isinstance(value, str):
        return _HOLE.sub(lambda m: re.escape(words[m[1]]) if pattern else words[m[1]], value)
    if isinstance(value, list):
        return [_fill(item, words, prose, pattern=pattern) for item in value]
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            if key == "non_fatal":
                made[key] = _quote(prose, item)
            else:
                made[key] = _fill(item, words, prose, pattern=pattern or key in _PATTERNS)
        return made
    return value


def _quote(prose: str, which: int | str) -> str:
    wanted = r"^- Continue" if which == "continue" else r"\(non-fatal\)"
    lines = [line.strip() for line in prose.splitlines() if re.search(wanted, line.strip())]
    return lines[0 if which == "continue" else int(which) - 1].removeprefix("- ")
