# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Chains of links: kept where every stop is inside, whatever their order; never a way out."""

from __future__ import annotations

import io
import itertools
import stat
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.artifact import tree_sha256
from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.sandbox.archive import links, members
from vibench_gym.sandbox.archive.links import CIRCLE, MAX_FOLLOWED, OUTWARD, TAKEN
from vibench_gym.sandbox.archive.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from vibench_gym.sandbox.archive.unpack import UnpackReport

Entry = tuple[str, str | None]
"""A name, and where it links to; None for a file that holds its name."""


def unpacked(folder: Path, entries: Iterable[Entry]) -> UnpackReport:
    folder.mkdir(exist_ok=True)
    with tarfile.open(folder / "app.tar", "w") as tar:
        for name, target in entries:
            info = tarfile.TarInfo(name)
            if target is None:
                info.size = len(name)
            else:
                info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info, io.BytesIO(name.encode()))
    return unpack(folder / "app.tar", folder / "out")


VENDORED: tuple[Entry, ...] = (
    ("lib/libz.so.1.2", None),
    ("lib/libz.so.1", "libz.so.1.2"),
    ("lib/libz.so", "libz.so.1"),
)
UPLOADS: tuple[Entry, ...] = (
    ("data/photo", None),
    ("storage", "data"),
    ("public/uploads", "/app/storage"),
)


@pytest.mark.parametrize(
    ("entries", "reads", "holds"),
    [(VENDORED, "lib/libz.so", "lib/libz.so.1.2"), (UPLOADS, "public/uploads/photo", "data/photo")],
    ids=["vendored", "uploads"],
)
def test_a_chain_is_kept_in_any_order(
    tmp_path: Path, entries: tuple[Entry, ...], reads: str, holds: str
) -> None:
    digests = set()
    for number, order in enumerate(itertools.permutations(entries)):
        report = unpacked(tmp_path / str(number), order)
        out = tmp_path / str(number) / "out"
        assert report.dropped == ()
        assert (out / reads).read_text() == holds
        digests.add(tree_sha256(out))
    assert len(digests) == 1


def test_a_chain_goes_through_linked_folders_as_the_kernel_goes(tmp_path: Path) -> None:
    report = unpacked(
        tmp_path,
        [
            ("deep/er/x", None),
            ("deep/beside", None),
            ("short", "deep/er"),
            ("by-folder", "short/x"),
            ("up", "short/../beside"),
            ("further", "./short/.././er//x"),
            ("written-out", "/app/short/../beside"),
            ("further-out", "short/../../deep/beside"),
            ("root", "/app"),
            ("round", "root/root/short/x"),
        ],
    )
    out = tmp_path / "out"
    assert report.dropped == ()
    assert (out / "by-folder").read_text() == (out / "further").read_text() == "deep/er/x"
    assert (out / "round").read_text() == "deep/er/x"
    for name in ("up", "written-out", "further-out"):
        assert (out / name).read_text() == "deep/beside"
    assert not [
        path for path in out.rglob("*") if path.is_symlink() and path.readlink().is_absolute()
    ]


@pytest.mark.parametrize(
    ("entries", "dropped"),
    [
        ([("a", "a")], {"a": CIRCLE}),
        ([("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")], dict.fromkeys("abcd", CIRCLE)),
        ([("a", "a/b"), ("b", "./a/../b")], {"a": CIRCLE, "b": CIRCLE}),
        ([("a", "/etc"), ("b", "a"), ("c", "b/passwd")], dict.fromkeys("abc", OUTWARD)),
        # By its text `d/out` stays inside; the kernel goes up from where `d/up` leads.
        ([("d/up", ".."), ("d/out", "up/../x")], {"d/out": OUTWARD}),
        ([("d/e/x", None), ("d/e/up", "/app"), ("d/e/out", "up/../../x")], {"d/e/out": OUTWARD}),
        # Out and in again is out.
        ([("x", None), ("d/a", "../../app/x")], {"d/a": OUTWARD}),
        ([("a", "b"), ("a/c", "x")], {"a/c": TAKEN}),
        ([("a/c", "x"), ("a", "b")], {"a": TAKEN}),
        ([("f", None), ("f/a", "x"), ("f", "g")], {"f/a": TAKEN, "f": TAKEN}),
        # `a` is a folder in the end, so it is walked as one.
        ([("a", "d/e/f"), ("a/x", None), ("out", "a/../../x")], {"a": TAKEN, "out": OUTWARD}),
    ],
)
def test_what_leads_out_or_nowhere_is_dropped_and_counted(
    tmp_path: Path, entries: list[Entry], dropped: dict[str, str]
) -> None:
    report = unpacked(tmp_path, entries)
    assert {item.name: item.reason for item in report.dropped} == dropped
    assert report.dropped_count == len(report.dropped_links) == len(dropped)


def test_a_dangling_link_is_kept(tmp_path: Path) -> None:
    """Set-up often makes what it leads to."""
    report = unpacked(tmp_path, [("a", "b"), ("b", "build/out"), ("c", "f/../f"), ("f", None)])
    assert report.dropped == ()
    assert not (tmp_path / "out/a").exists()


def test_no_more_links_are_followed_than_the_kernel_follows(tmp_path: Path) -> None:
    chain = [(f"l{n}", f"l{n + 1}") for n in range(MAX_FOLLOWED)]
    report = unpacked(tmp_path, [*chain, (f"l{MAX_FOLLOWED}", "f"), ("f", None)])
    assert [str(item) for item in report.dropped] == [f"l0 ({CIRCLE})"]
    assert (tmp_path / "out/l1").read_text() == "f"


def test_a_text_that_no_link_can_have_is_dropped(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        for name, target in (("nul", "a\0b"), ("through", "nul"), ("empty", "")):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
    report = unpack(tmp_path / "app.zip", tmp_path / "out")
    assert report.dropped_names == (
        "nul (link target holds a NUL)",
        "through (link target holds a NUL)",
        "empty (link target of 0 bytes)",
    )


def test_a_link_named_like_the_only_top_folder_is_dropped(tmp_path: Path) -> None:
    scripts: list[Entry] = [("top/setup-environment.sh", None), ("top/start-server.sh", None)]
    report = unpacked(tmp_path, [("top", "elsewhere"), *scripts, ("top/l", "start-server.sh")])
    assert report.dropped_names == (f"top ({TAKEN})",)
    assert (tmp_path / "out/l").read_text() == "top/start-server.sh"


def test_a_link_that_the_file_system_refuses_is_dropped(tmp_path: Path) -> None:
    # Written relative to where it stands the text is longer than a link can be.
    long = "/app/" + "x/" * 2040 + "x" * 9
    report = unpacked(tmp_path, [("a/b/c/d/e/l", long)])
    assert report.dropped_names == ("a/b/c/d/e/l (link cannot be made: File name too long)",)


def test_folders_of_links_count_against_the_budget() -> None:
    meter = members.BudgetMeter(ArchiveBudget(members=20))
    found: dict[tuple[bytes, ...], bytes] = {
        (b"%d" % n, b"a", b"b", b"c", b"l"): b"x" for n in range(20)
    }
    with pytest.raises(ArtifactRejected, match="more than 20 folders"):
        list(links.faults(found, lambda _path: True, meter))


def test_links_count_against_the_time_of_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MAX_SECONDS", -1.0)
    meter = members.BudgetMeter(ArchiveBudget())
    with pytest.raises(ArtifactRejected, match="took more than"):
        list(links.faults({(b"a",): b"b"}, lambda _path: True, meter))
