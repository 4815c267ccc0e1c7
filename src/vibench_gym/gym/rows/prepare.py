# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Writes NeMo Gym's rows for a ViBench checkout, or for the bundled tasks.

The flags are those of the environment that NeMo Gym ships, and more. A row that cannot run yet (no
tree to start a feature from, no model for an app that needs one) is reported with the reason. The
row itself says what it needs, and a server without that skips it; `--runnable-only` leaves such
rows out. Needs no nemo-gym.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vibench_gym.core.durable import write_atomic
from vibench_gym.core.errors import ConfigError, OperatorFault
from vibench_gym.core.shown_text import visible_lines
from vibench_gym.core.tasks.references import CHECKOUT_RESULTS
from vibench_gym.core.tasks.task import MVP, ON_MVP, artifacts_of, bundled_tasks_dir
from vibench_gym.gym.rows.brief import MAX_ITERATIONS, OwnPrompt, ViBenchPrompt
from vibench_gym.gym.rows.earlier_mvps import EarlierMvp, earlier_mvps
from vibench_gym.gym.rows.rows import row
from vibench_gym.gym.rows.vibench_layout import family, needs_app_key, prds_folder, reference_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vibench_gym.gym.rows.brief import BuilderPrompt
    from vibench_gym.gym.rows.earlier_mvps import Selector

ALL = "all"
OPERATOR = 2


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """Which rows to write."""

    vibench_root: Path | None = None
    """None: the bundled tasks, with our own brief."""
    apps: tuple[str, ...] = ()
    """In this order; none: all of them."""
    artifacts: tuple[str, ...] = (MVP,)
    """In this order; `all`: what an app has, `all-on_mvp`: its features on earlier MVPs."""
    system_prompt: str | None = None
    max_iterations: int = MAX_ITERATIONS
    limit: int | None = None
    mvp_from: tuple[str, ...] = ()
    """Files of rollouts, or digests of MVPs, for `-on_mvp`; see `earlier_mvps`."""
    mvp_select: Selector = "all"
    app_key_env: str | None = None
    """Environment variable with the key of the model that apps call."""
    runnable_only: bool = False


@dataclass(frozen=True, slots=True)
class Unready:
    """A row that cannot run yet."""

    app: str
    artifact: str
    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The rows, and those of them that cannot run yet."""

    rows: tuple[dict[str, Any], ...]
    unready: tuple[Unready, ...] = ()
    left_out: bool = False
    """Whether the unready ones are not among the rows."""

    @property
    def plans(self) -> int:
        """Test plans of all rows."""
        return sum(len(one["test_plans"]) for one in self.rows)


@dataclass(frozen=True, slots=True)
class _Wanted:
    task_dir: Path
    artifact: str
    named: bool
    """Whether the operator named both app and artifact."""
    mvp: EarlierMvp | None = field(default=None)


def prepare(options: PrepareOptions) -> Prepared:
    """Make the rows.

    Raises:
        ConfigError: what is asked for is not there, or a brief cannot be rendered.
        TaskInvalid: a task's files break the format.
    """
    top, brief = _source(options)
    tasks = _tasks(top, options.apps)
    made: list[dict[str, Any]] = []
    unready: list[Unready] = []
    for wanted in _wanted(tasks, options):
        if options.limit is not None and len(made) >= options.limit:
            break
        reason = _unready(wanted, options, top)
        if reason:
            unready.append(Unready(wanted.task_dir.name, wanted.artifact, reason))
            if options.runnable_only:
                continue
        made.append(
            row(
                wanted.task_dir,
                wanted.artifact,
                brief=brief,
                system_prompt=options.system_prompt,
                starting_tree=None if wanted.mvp is None else wanted.mvp.starting_tree(),
            )
        )
    return Prepared(tuple(made), tuple(unready), options.runnable_only)


def _source(options: PrepareOptions) -> tuple[Path, BuilderPrompt]:
    if options.vibench_root is None:
        return bundled_tasks_dir(), OwnPrompt()
    root = options.vibench_root.expanduser().absolute()
    top = prds_folder(root)
    if not top.is_dir():
        raise ConfigError(f"there is no folder {str(root)!r}: name a ViBench checkout")
    return top, ViBenchPrompt(root, options.max_iterations)


def _tasks(top: Path, apps: Sequence[str]) -> list[Path]:
    there = {path.name: path for path in sorted(top.iterdir()) if (path / "tests").is_dir()}
    if not there:
        raise ConfigError(f"{str(top)!r} holds no app: name a ViBench checkout")
    unknown = [app for app in apps if app not in there]
    if unknown:
        raise ConfigError(f"no app {', '.join(unknown)}; there are {', '.join(there)}")
    return [there[app] for app in dict.fromkeys(apps or there)]


def _wanted(tasks: Sequence[Path], options: PrepareOptions) -> Iterator[_Wanted]:
    asked = tuple(dict.fromkeys(options.artifacts))
    has = {task.name: artifacts_of(task) for task in tasks}
    for artifact in asked:
        every = artifact in (ALL, ALL + ON_MVP)
        if not every and all(family(artifact) not in names for names in has.values()):
            raise ConfigError(f"no app that is asked for has an artifact {artifact!r}")
    if any(artifact.endswith(ON_MVP) for artifact in asked) and not options.mvp_from:
        raise ConfigError(
            "features on earlier MVPs need the MVPs: --mvp-from with a rollouts file or a digest"
        )
    mvps = earlier_mvps(options.mvp_from, tuple(has), options.mvp_select)
    for task in tasks:
        for artifact in _artifacts(asked, has[task.name]):
            named = task.name in options.apps and artifact in asked
            if not artifact.endswith(ON_MVP):
                yield _Wanted(task, artifact, named)
                continue
            if named and not mvps[task.name]:
                raise ConfigError(f"--mvp-from names no MVP of {task.name}")
            for mvp in mvps[task.name]:
                yield _Wanted(task, artifact, named, mvp)


def _artifacts(asked: Sequence[str], has: Sequence[str]) -> list[str]:
    found: list[str] = []
    for artifact in asked:
        if artifact == ALL:
            found += has
        elif artifact == ALL + ON_MVP:
            found += [f"{name}{ON_MVP}" for name in has if name != MVP]
        elif family(artifact) in has:
            found.append(artifact)
    return list(dict.fromkeys(found))


def _unready(wanted: _Wanted, options: PrepareOptions, top: Path) -> str:
    """Why a row cannot run yet; empty if it can.

    Raises:
        ConfigError: the row was asked for by name, and this root will never have what it needs.
    """
    app, artifact = wanted.task_dir.name, wanted.artifact
    feature = family(artifact) != MVP
    if feature and wanted.mvp is None and reference_tree(wanted.task_dir, MVP) is None:
        reason = "there is no reference implementation of its MVP to start from"
        if wanted.named and (top.parent / CHECKOUT_RESULTS).is_dir():
            raise ConfigError(
                f"{app}/{artifact}: {reason}; build it on an earlier rollout's MVP "
                f"({artifact}{ON_MVP} with --mvp-from)"
            )
        return reason
    if needs_app_key(app, artifact):
        name = options.app_key_env
        if name is None:
            return "its app calls a model, and none is given to it (--app-key-env)"
        if not os.environ.get(name):
            raise ConfigError(f"--app-key-env: the environment has no {name}")
    return ""


def main(arguments: Sequence[str] | None = None, *, program: str | None = None) -> int:
    """The command; exit code 2 and a message where the operator has to act."""
    given = _parser(program).parse_args(arguments)
    options = PrepareOptions(
        vibench_root=given.vibench_root,
        apps=tuple(given.apps or ()),
        artifacts=tuple(given.artifacts),
        system_prompt=given.system_prompt,
        max_iterations=given.max_iterations,
        limit=given.limit,
        mvp_from=tuple(given.mvp_from),
        mvp_select=given.mvp_select,
        app_key_env=given.app_key_env,
        runnable_only=given.runnable_only,
    )
    try:
        prepared = prepare(options)
        _write(prepared.rows, given.output)
    except (OperatorFault, OSError) as fault:
        sys.stderr.write(f"{visible_lines(str(fault))}\n")
        return OPERATOR
    _tell(prepared, given.output)
    return 0


def _write(rows: Sequence[Mapping[str, Any]], output: str) -> None:
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
    if output == "-":
        sys.stdout.write(text)
        return
    path = Path(output).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)


def _tell(prepared: Prepared, output: str) -> None:
    for one in prepared.unready:
        sys.stderr.write(visible_lines(f"{one.app}/{one.artifact}: {one.reason}") + "\n")
    rows, plans = len(prepared.rows), prepared.plans
    said = f"Wrote {rows} task(s) covering {plans} test plan(s) to {output}"
    if prepared.unready:
        fate = "were left out" if prepared.left_out else "of them will be skipped as things are"
        said += f"; {len(prepared.unready)} {fate}"
    (sys.stderr if output == "-" else sys.stdout).write(f"{said}\n")


def _parser(program: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Write NeMo Gym's rows for a ViBench checkout, or for the bundled tasks.",
    )
    add = parser.add_argument
    add("--vibench-root", type=Path, help="a ViBench checkout; the bundled tasks if left out")
    add("--output", required=True, help="the .jsonl file to write; - for standard output")
    add("--apps", nargs="*", metavar="APP", help="only these, in this order; all if left out")
    add(
        "--artifacts",
        nargs="*",
        metavar="ARTIFACT",
        default=[MVP],
        help="mvp (if left out), feature1, feature1-on_mvp, ...; all: every one that an app has; "
        "all-on_mvp: every feature on earlier MVPs",
    )
    add("--system-prompt", help="said before the brief")
    add("--max-iterations", type=_positive, default=MAX_ITERATIONS, help="told by the brief")
    add("--limit", type=_positive, help="at most so many rows")
    add(
        "--mvp-from",
        nargs="*",
        metavar="SOURCE",
        default=[],
        help="MVPs for -on_mvp: rollouts files, digests of the artifact store, APP=DIGEST",
    )
    add("--mvp-select", choices=["all", "best", "first"], default="all", help="of an app's MVPs")
    add("--app-key-env", metavar="NAME", help="variable with the key of the model that apps call")
    add("--runnable-only", action="store_true", help="leave out what would be skipped")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
