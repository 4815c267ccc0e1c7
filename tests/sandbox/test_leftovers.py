# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a crash left is found and removed; what anybody uses, or is not ours, stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.boxes import shell
from vibench_gym.sandbox import control_groups, locks
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
from vibench_gym.sandbox.leftovers import Leftover, LeftoverPaths, find_leftovers
from vibench_gym.sandbox.zone.uids import UidLease
from vibench_gym.sandbox.zone.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "0123456789ab"
CRASH = """
import os, sys
from pathlib import Path
from vibench_gym.sandbox.cleanup import janitor
from vibench_gym.sandbox.cleanup.work_folder import WorkFolder
janitor._list._say = lambda *_: None  # a crash of the host takes the janitor as well
(WorkFolder("artifact", Path(sys.argv[1])).path / "app").mkdir()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def places(tmp_path: Path) -> LeftoverPaths:
    for name in ("tmp", "shm", "cache/templates", "groups", "leases", "slots"):
        (tmp_path / name).mkdir(parents=True)
    return LeftoverPaths(
        temporary=(tmp_path / "tmp", tmp_path / "shm"),
        cache=tmp_path / "cache",
        groups=tmp_path / "groups",
        leases=tmp_path / "leases",
        slots=tmp_path / "slots",
    )


def crashed(parent: Path) -> Path:
    """The work folder of a process that was killed together with its janitor."""
    before = set(parent.iterdir())
    subprocess.run([sys.executable, "-c", CRASH, str(parent)], check=False, timeout=60)
    (path,) = set(parent.iterdir()) - before
    return path


def paths(found: list[Leftover]) -> set[Path]:
    return {one.path for one in found}


def test_work_folders_of_the_dead_go_and_those_of_the_living_stay(places: LeftoverPaths) -> None:
    parents = [*places.temporary, places.temporary[0].parent / "cache" / "templates"]
    dead = {crashed(parent) for parent in parents}
    living = [WorkFolder("artifact", parent) for parent in parents]
    found = find_leftovers(places)
    assert paths(found) == dead
    assert {one.kind for one in found} == {"folder"}
    assert all(one.remove() for one in found)
    assert not any(path.exists() for path in dead)
    assert all(folder.path.is_dir() for folder in living)
    assert find_leftovers(places) == []
    for folder in living:
        folder.remove()


def test_a_folder_in_a_living_folder_is_not_looked_for(places: LeftoverPaths) -> None:
    with WorkFolder("of", places.temporary[0]) as outer:
        crashed(outer)
        assert find_leftovers(places) == []


@pytest.mark.parametrize(
    "name",
    [
        f"vibench-gym-{TOKEN}",
        f"vibench-gym-zone-{TOKEN}0",
        f"vibench-gym-ZONE-{TOKEN}",
        f"my-vibench-gym-zone-{TOKEN}",
        f"vibench-gym-zone-{TOKEN}.bak",
        "vibench-gym-0",
        "playwright-artifacts-abcdef",
    ],
)
def test_names_that_are_not_ours_stay(places: LeftoverPaths, name: str) -> None:
    (places.temporary[0] / name).mkdir()
    assert find_leftovers(places) == []


def test_links_and_files_of_our_names_stay(places: LeftoverPaths, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    link = places.temporary[0] / f"vibench-gym-zone-{TOKEN}"
    link.symlink_to(kept)
    (places.temporary[1] / f"vibench-gym-zone-{TOKEN}").write_text("a file")
    assert find_leftovers(places) == []
    assert not Leftover("folder", link).remove()
    assert kept.is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folders_of_other_users_stay(places: LeftoverPaths) -> None:
    folder = places.temporary[0] / f"vibench-gym-zone-{TOKEN}"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    assert find_leftovers(places) == []


def test_nothing_of_another_users_is_touched_or_listed(
    places: LeftoverPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = places.groups / "vibench-gym" / "zone-01234567"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    (places.temporary[0] / f"vibench-gym-zone-{TOKEN}").mkdir()
    for path in (places.leases / "1", places.slots / "0"):
        path.touch()
    assert len(find_leftovers(places)) == 4
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert find_leftovers(places) == []


def test_leases_and_slots_go_unless_they_are_held(places: LeftoverPaths) -> None:
    held = locks.try_lock(places.leases / "0")
    assert held is not None
    for path in (places.leases / "1", places.slots / "0", places.slots / "notes.txt"):
        path.touch()
    found = find_leftovers(places)
    assert paths(found) == {places.leases / "1", places.slots / "0"}
    assert all(one.remove() for one in found)
    assert (places.leases / "0").exists()
    assert (places.slots / "notes.txt").exists()
    os.close(held)


def test_what_is_taken_between_finding_and_removing_stays(places: LeftoverPaths) -> None:
    path = places.leases / "0"
    path.touch()
    (found,) = find_leftovers(places)
    held = locks.try_lock(path)
    assert held is not None
    assert not found.remove()
    assert path.exists()
    os.close(held)
    path.unlink()
    assert found.remove()


def test_groups_of_the_dead_go_and_others_stay(places: LeftoverPaths) -> None:
    def group(name: str, processes: str = "") -> Path:
        folder = places.groups / name
        (folder / "box-1").mkdir(parents=True)
        for path in (folder, folder / "box-1"):
            (path / "cgroup.procs").write_text(processes)
        return folder

    dead = group("a/b/vibench-gym/zone-01234567")
    group("vibench-gym/busy-01234567", "17\n")
    group("vibench-gym/shapeless")
    group("somebody/zone-01234567")
    held = locks.mark_alive(group("vibench-gym/alive-01234567"))
    assert held is not None
    assert paths(find_leftovers(places)) == {dead}
    os.close(held)


@pytest.mark.sandbox
@pytest.mark.skipif(not control_groups.find_base(), reason="no control groups are delegated to us")
def test_a_real_group_is_in_use_while_its_zone_lives(places: LeftoverPaths) -> None:
    base = min(control_groups.find_base().values())
    real = LeftoverPaths(places.temporary, None, Path(base).parent, places.leases, places.slots)
    group = Path(base) / "test-01234567"
    (group / "box-1").mkdir(parents=True)
    held = locks.mark_alive(group)
    assert held is not None
    assert group not in paths(find_leftovers(real))
    os.close(held)
    (found,) = (one for one in find_leftovers(real) if one.path == group)
    assert found.remove()
    assert not group.exists()


@pytest.fixture
def lease() -> Iterator[UidLease]:
    leased = UidLease.acquire()
    yield leased
    leased.release()


@pytest.mark.sandbox
async def test_nothing_of_a_living_zone_is_found(lease: UidLease) -> None:
    places = LeftoverPaths.of_host(None)
    async with Zone(snapshot=None, state_bytes=1 << 20, uids=lease, name="living") as zone:
        await zone.run(shell("true"), timeout_s=30)
        found = paths(find_leftovers(places))
        assert zone._work_path() not in found
        assert not [path for path in found if path.name.startswith("living-")]
        if lease.dedicated:
            number = (lease.app - 200_000) // 3
            assert places.leases / str(number) not in found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_mounts_in_what_is_left_go_first(places: LeftoverPaths) -> None:
    folder = crashed(places.temporary[0])
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "left", folder / "app"], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this root may not mount")
    found = find_leftovers(places)
    assert [(one.kind, one.path) for one in found] == [
        ("mount", folder / "app"),
        ("folder", folder),
    ]
    assert all(one.remove() for one in found)
    assert not folder.exists()
