# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Archives that attack whoever unpacks them: equal to the honest app without them, or a plain 0.

The grader and its unpacking are real; what would stand the app up is not, and gives every app that
can be unpacked full points. So a score shows what unpacking made of the archive, and the unpacked
files are read where the stack would have got them.
"""

from __future__ import annotations

import asyncio
import os
import resource
from typing import TYPE_CHECKING

import pytest

from support.attacks import advisory_archives as advisory
from support.attacks import hostile_archives as hostile
from support.attacks.case import Case, Seen
from support.counter_app import write_app
from support.grading import FakeBrowsers, FakeModels, agent, make_task, passing
from support.grading_lab import FAST
from vibench_gym.core.artifact import tree_sha256
from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.rundir import RunDir
from vibench_gym.core.status import ArtifactStatus
from vibench_gym.grading.grader import Grader
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.records import RolloutRecord
    from vibench_gym.testing.fakes.stack import FakePreparedApp

BUDGET = ArchiveBudget(members=2000, logical_bytes=32 * 1024 * 1024)
MEMORY_BYTES = 256 * 1024 * 1024


class Looking(FakeStackBuilder):
    """Looks at what it is given to stand up."""

    found_secret = False
    set_ids = False
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    async def prepare(self, app_dir: Path, *, log_path: Path | None = None) -> FakePreparedApp:
        await asyncio.to_thread(self._look, app_dir)
        return await super().prepare(app_dir, log_path=log_path)

    def _look(self, app_dir: Path) -> None:
        files = [path for path in app_dir.rglob("*") if not path.is_symlink() and path.is_file()]
        self.found_secret = any(hostile.SECRET.encode() in path.read_bytes() for path in files)
        for path in app_dir.rglob("*"):
            assert path.resolve().is_relative_to(app_dir.resolve()), path
        self.set_ids = any(path.stat().st_mode & 0o6000 for path in files)
        found = [path for path in app_dir.rglob("*") if path.is_symlink()]
        self.links = tuple(path.relative_to(app_dir).as_posix() for path in found)
        self.names = tuple(path.relative_to(app_dir).as_posix() for path in files)


async def graded(folder: Path, app: Path) -> tuple[RolloutRecord, Looking]:
    stacks = Looking()
    grader = Grader(
        stacks=stacks,
        models=FakeModels(qa=lambda plan: agent(passing(plan))),
        browsers=FakeBrowsers(),
        config=FAST,
        archive=BUDGET,
    )
    task = make_task()
    rollout = RunDir(folder / "run").rollout(task, "label")
    return await grader.grade(task, app, rollout=rollout, label="label"), stacks


def attack(make: hostile.Maker, gain: str, expected: str, *defences: str) -> Case:
    return Case("archive", gain, expected, defences, name=make.__name__, attack=make)


def by_name(case: Case) -> str:
    return case.name


def dropped(rollout: RolloutRecord) -> tuple[str, ...]:
    return rollout.setup.dropped_members if rollout.setup else ()


SAME = "dropped and named, the rest as the honest app"
DROPPED = [
    attack(hostile.upwards, "overwrite files of the grader", SAME, "archive_names"),
    attack(
        hostile.hard_link_outward,
        "read a file of the host into the app",
        SAME,
        "archive_hard_links",
    ),
    attack(
        hostile.hard_link_through_link,
        "read a file of the host through two kinds of link",
        SAME,
        "archive_link_targets",
    ),
    attack(
        hostile.links_to_secrets, "be given the grader's environment", SAME, "archive_link_targets"
    ),
    attack(
        hostile.script_is_a_link,
        "have a host's file run as its script",
        SAME,
        "archive_link_targets",
    ),
    attack(
        hostile.link_without_a_text,
        "break the unpacking, to be masked",
        SAME,
        "archive_link_texts",
    ),
    attack(
        hostile.link_over_its_folder,
        "break the unpacking, to be masked, by two members of one name",
        SAME,
        "archive_link_names",
    ),
    attack(hostile.special_files, "hang whoever reads its files", SAME, "archive_special_files"),
    attack(
        hostile.special_files_in_a_folder,
        "hang or mislead whoever copies its folder",
        SAME,
        "archive_special_files",
    ),
    attack(hostile.odd_names, "write lines into the grader's records", SAME, "archive_printable"),
    attack(hostile.setuid, "have set-user-id programs on the host", SAME, "archive_modes"),
    attack(hostile.zip_of_all, "do all of it by a zip", SAME, "archive_names"),
]
INSIDE = [
    attack(
        hostile.through_link,
        "write through a link of its own to the host",
        "stays inside",
        "archive_links_last",
    ),
    attack(
        hostile.long_chain,
        "write outside past a check by real paths",
        "stays inside",
        "archive_links_last",
    ),
    attack(
        hostile.chain_outward,
        "be given a file of the host, by links each of which looks harmless",
        "stays inside",
        "archive_link_chains",
    ),
    attack(
        hostile.false_format,
        "be one app for the check and another for the grader",
        "one app, as a tar",
        "archive_format",
    ),
    attack(
        advisory.names_that_fold_together,
        "write through a link whose name is another's when folded",
        "stays inside",
        "archive_links_last",
    ),
    attack(
        advisory.size_for_another_header,
        "show other members here than to other readers",
        "as POSIX reads it, nothing smuggled",
    ),
    attack(
        advisory.mode_through_a_link,
        "change the mode of a folder of the host's",
        "stays inside",
    ),
    attack(hostile.endless_streams, "keep the grader busy with nothing", "read to the tar's end"),
]
LARGE = "too_large, 0, bounded"
REFUSED = [
    attack(hostile.sparse_giant, "fill the host's disk", LARGE, "archive_bytes"),
    attack(hostile.compressed_bomb, "fill the host's disk", LARGE, "archive_bytes"),
    attack(hostile.zip_bomb, "fill the host's disk by a zip", LARGE, "archive_bytes"),
    attack(hostile.too_many_members, "use up the host's inodes", LARGE, "archive_members"),
    attack(hostile.endless_name, "break what handles names", LARGE, "archive_paths"),
    attack(hostile.deep_tree, "make the grader recurse without end", LARGE, "archive_paths"),
    attack(hostile.huge_header, "fill the grader's memory", LARGE, "archive_headers"),
    attack(advisory.header_chain, "fill its memory bit by bit", LARGE, "archive_header_chain"),
    attack(
        advisory.zip64_directory_bomb,
        "fill the grader's memory by a second directory size",
        LARGE,
        "archive_zip64",
    ),
    attack(
        hostile.zip_directory_bomb, "fill the grader's memory by a zip", LARGE, "archive_headers"
    ),
]
DAMAGED = [
    attack(hostile.cut_short, "have half an app graded as a whole one", "rejected, 0"),
    attack(hostile.crc_lie, "slip in content that a checksum denies", "rejected, 0"),
]


def told(rollout: RolloutRecord) -> str:
    return f"{rollout.artifact_status}, reward {rollout.reward}, {len(dropped(rollout))} dropped"


@pytest.mark.parametrize("case", DROPPED, ids=by_name)
async def test_dropped(tmp_path: Path, case: Case, seen: Seen) -> None:
    honest, _ = await graded(tmp_path / "honest", write_app(tmp_path / "honest" / "app"))
    source = case.attack(tmp_path)
    before = (tmp_path / "outside.txt").exists()
    rollout, looked = await graded(tmp_path, source)
    seen(told(rollout))
    assert (rollout.reward, rollout.mask_sample) == (honest.reward, False)
    assert rollout.artifact_sha256 == honest.artifact_sha256
    assert not looked.found_secret
    assert not looked.set_ids
    if before:
        assert (tmp_path / "outside.txt").read_text() == hostile.SECRET
    if case.attack is not hostile.setuid:
        assert dropped(rollout)
    for name in dropped(rollout):
        assert name.isprintable()
        assert "\u202e" not in name


@pytest.mark.parametrize("case", INSIDE, ids=by_name)
async def test_inside(tmp_path: Path, case: Case, seen: Seen) -> None:
    rollout, looked = await graded(tmp_path, case.attack(tmp_path))
    seen(told(rollout))
    assert (rollout.reward, rollout.mask_sample) == (1.0, False)
    assert not looked.found_secret
    assert not (tmp_path / "planted.txt").exists()
    assert {"setup-environment.sh", "start-server.sh", "server.py"} <= set(looked.names)
    assert "smuggled.txt" not in looked.names
    if (tmp_path / "outside.txt").exists():
        assert (tmp_path / "outside.txt").read_text() == hostile.SECRET
    if (tmp_path / "theirs").exists():
        assert (tmp_path / "theirs").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("case", REFUSED + DAMAGED, ids=by_name)
async def test_refused(tmp_path: Path, case: Case, seen: Seen) -> None:
    app = case.attack(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rollout, _ = await graded(tmp_path, app)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    seen(told(rollout))
    large = case.expected == LARGE
    wanted = ArtifactStatus.TOO_LARGE if large else ArtifactStatus.REJECTED
    assert rollout.artifact_status is wanted
    assert (rollout.reward, rollout.mask_sample, rollout.build_failed) == (0.0, False, True)
    assert grown < MEMORY_BYTES
    left = await asyncio.to_thread(os.listdir, tmp_path)
    assert set(left) <= {app.name, "app.tar", "run"}


async def test_what_is_packed_twice_is_the_same_app(tmp_path: Path) -> None:
    """The ground of the comparisons above."""
    folder = write_app(tmp_path / "app")
    as_folder, _ = await graded(tmp_path / "1", folder)
    as_tar, _ = await graded(tmp_path / "2", hostile.honest_tar(tmp_path))
    assert as_folder.artifact_sha256 == as_tar.artifact_sha256 == tree_sha256(folder)


async def test_chains_of_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    """The honest twin of those that do not: what worked where it was built is graded."""
    app = write_app(tmp_path / "app", {"data/photo": "x", "lib/libz.so.1.2": "z"})
    links = {
        "uploads": "/app/storage",
        "storage": "data",
        "lib/libz.so": "libz.so.1",
        "lib/libz.so.1": "libz.so.1.2",
    }
    for name, target in links.items():
        (app / name).symlink_to(target)
    rollout, looked = await graded(tmp_path, app)
    assert (rollout.reward, dropped(rollout)) == (1.0, ())
    assert set(links) <= set(looked.links)
