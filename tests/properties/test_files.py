# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Invariants of archives, run directories, secrets: nothing lost, nothing outside, none told."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import string
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vibench_gym.core.artifact import ArtifactStore, tree_sha256
from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.durable import write_atomic
from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.core.records import Event
from vibench_gym.core.redact import REDACTED, redact
from vibench_gym.core.rundir import PlanDir, RunDir
from vibench_gym.grading.untrusted.text import as_data, quoted_lines
from vibench_gym.sandbox.archive.pack import pack_tree
from vibench_gym.sandbox.archive.unpack import unpack
from vibench_gym.stack import envfile

if TYPE_CHECKING:
    import random

SMALL = ArchiveBudget(members=60, logical_bytes=200_000, depth=8, path_bytes=512)
slow = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])

segments = st.text(
    st.characters(codec="utf-8", blacklist_characters="/\0"), min_size=1, max_size=12
).filter(lambda name: name not in {".", ".."} and len(name.encode()) < 200)
trees = st.dictionaries(
    st.lists(segments, min_size=1, max_size=4).map(tuple),
    st.tuples(st.binary(max_size=300), st.booleans()),
    max_size=12,
)
hostile = st.sampled_from(
    [
        "../out",
        "/abs",
        "a/../../out",
        "..",
        "./..",
        "link/out",
        "a/link/../out",
        "link",
        "a//b",
        "a/./b",
    ]
)
member = st.tuples(
    hostile | st.lists(segments, min_size=1, max_size=3).map("/".join),
    st.sampled_from(
        [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE]
    ),
    st.sampled_from(
        ["..", "/", "../outside", "link", "a", "/proc/self/environ", ".", "", "a\0", "a/../.."]
    ),
)


def plant(folder: Path, tree: dict[tuple[str, ...], tuple[bytes, bool]]) -> dict[Path, bytes]:
    """Write what of a tree can be written: names may be files and folders at once."""
    made = {}
    for parts, (content, executable) in tree.items():
        path = folder.joinpath(*parts)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if executable else 0o644)
            made[path] = content
    return made


def looks(folder: Path) -> list[tuple[str, bool, bytes]]:
    return sorted(
        (
            str(path.relative_to(folder)),
            path.is_symlink(),
            b"" if not path.is_file() else path.read_bytes(),
        )
        for path in folder.rglob("*")
    )


@slow
@given(trees)
def test_what_is_packed_is_what_is_graded(tree: dict[tuple[str, ...], tuple[bytes, bool]]) -> None:
    """An app comes out of the archive by hash as it went in, but for the documented list."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "app").mkdir()
        plant(root / "app", tree)
        _, packed = pack_tree(root / "app", root / "app.tar")
        report = unpack(root / "app.tar", root / "out")
        missing = (
            len(packed.dropped) + len(packed.left_out) + report.dropped_count + len(report.left_out)
        )
        if not missing:
            assert tree_sha256(root / "out") == tree_sha256(root / "app")
        else:
            kept = {one[0] for one in looks(root / "out")}
            assert kept <= {one[0] for one in looks(root / "app")}


@slow
@given(trees)
def test_the_same_app_is_the_same_archive(tree: dict[tuple[str, ...], tuple[bytes, bool]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for folder in ("one", "other"):
            (root / folder).mkdir()
        plant(root / "one", tree)
        plant(root / "other", dict(reversed(tree.items())))
        if tree_sha256(root / "one") != tree_sha256(root / "other"):
            return  # names that are file and folder at once: the first one wins
        for path in (root / "other").rglob("*"):
            os.utime(path, (1, 1))
        first, _ = pack_tree(root / "one", root / "one.tar")
        second, _ = pack_tree(root / "other", root / "other.tar")
        assert first == second
        assert ArtifactStore(root / "store").put(root / "one.tar") == second.sha256


@slow
@given(st.lists(member, max_size=10), st.booleans())
def test_extraction_never_writes_outside(
    members: list[tuple[str, bytes, str]], as_zip: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        outside = root / "outside"
        outside.mkdir()
        (outside / "kept").write_text("kept")
        buffer = io.BytesIO()
        if as_zip:
            with zipfile.ZipFile(buffer, "w") as archive:
                for path, kind, target in members:
                    info = zipfile.ZipInfo(path)
                    info.external_attr = (0o120777 if kind == tarfile.SYMTYPE else 0o100644) << 16
                    with contextlib.suppress(ValueError, UserWarning):
                        archive.writestr(info, target)
        else:
            with tarfile.open(fileobj=buffer, mode="w") as tar:
                for path, kind, target in members:
                    entry = tarfile.TarInfo(path)
                    entry.type, entry.linkname = kind, target
                    tar.addfile(entry)
        (root / "archive").write_bytes(buffer.getvalue())
        destination = root / "deep" / "er" / "app"
        with contextlib.suppress(ArtifactRejected):
            unpack(root / "archive", destination, SMALL)
        assert looks(outside) == [("kept", False, b"kept")]
        assert {path.name for path in root.iterdir()} <= {"outside", "archive", "deep"}
        assert [path.name for path in (root / "deep").iterdir()] in ([], ["er"])
        assert {path.name for path in (root / "deep" / "er").iterdir()} <= {"app"}
        for made in destination.rglob("*"):
            if made.is_symlink():
                assert stays_inside(destination, made), made


places = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
targets = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5).map(
    "/".join
)
linked = st.dictionaries(places, st.none() | targets | targets.map("/app/{}".format), max_size=8)


@slow
@given(linked, st.randoms(use_true_random=False))
def test_links_that_stay_inside_are_kept_in_any_order(
    entries: dict[str, str | None], order: random.Random
) -> None:
    """What is kept of a tree of files and links is what stays inside where it was built."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        built = root / "app"
        built.mkdir()
        made = {}
        for path, target in entries.items():
            with contextlib.suppress(OSError):
                place = built.joinpath(path)
                if place.parent.resolve() != place.parent:
                    continue  # below a link, no archive of this folder would have it
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("x") if target is None else place.symlink_to(target)
                made[path] = target
        links = {path for path, target in made.items() if target is not None}
        kept = {path for path in links if stays_inside(built, built / path)}
        for number in range(2):
            order.shuffle(shuffled := list(made.items()))
            with tarfile.open(root / f"{number}.tar", "w") as tar:
                for path, target in shuffled:
                    entry = tarfile.TarInfo(path)
                    if target is not None:
                        entry.type, entry.linkname = tarfile.SYMTYPE, target
                    tar.addfile(entry)
            report = unpack(root / f"{number}.tar", root / str(number))
            found = {
                path.relative_to(root / str(number)).as_posix()
                for path in (root / str(number)).rglob("*")
                if path.is_symlink()
            }
            assert found == kept
            assert report.dropped_count == len(links - kept) == len(report.dropped_links)
        assert tree_sha256(root / "0") == tree_sha256(root / "1")


def stays_inside(root: Path, link: Path) -> bool:
    """Whether a link of a tree on disk leads outside at no stop; `/app` is the tree's root."""
    place, ahead = link.parent, [link.name]
    followed = 0
    while ahead:
        part = ahead.pop(0)
        if part == "..":
            if place == root:
                return False
            place = place.parent
        elif not (place / part).is_symlink():
            place /= part
        else:
            followed += 1
            text = os.readlink(place / part)  # noqa: PTH115 - as it stands, `.` and all
            if followed > 40 or (text.startswith("/") and not f"{text}/".startswith("/app/")):
                return False
            place = root if text.startswith("/") else place
            parts = (
                text.removeprefix("/app").split("/") if text.startswith("/") else text.split("/")
            )
            ahead = [part for part in parts if part not in ("", ".")] + ahead
    return True


@slow
@given(
    st.binary(max_size=2000),
    st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00"]),
)
def test_no_bytes_are_more_than_a_rejected_archive(data: bytes, magic: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "archive").write_bytes(magic + data)
        try:
            report = unpack(root / "archive", root / "out", SMALL)
        except ArtifactRejected:
            assert list((root / "out").iterdir()) == []
        else:
            assert report.bytes <= SMALL.logical_bytes


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=6))
def test_a_file_is_always_one_of_the_versions_that_were_written(versions: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "deep" / "file"
        for version in versions:
            write_atomic(path, version)
            assert path.read_bytes() == version
        assert [one.name for one in path.parent.iterdir()] == ["file"]


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=5),
    st.data(),
)
def test_events_before_a_cut_are_all_there(
    data_of: list[dict[str, str]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        plan = PlanDir(Path(name) / "plan").create()
        events = [Event(t=float(n), kind="flag", data=one) for n, one in enumerate(data_of)]
        ends = []
        for event in events:
            plan.append_event(event)
            ends.append(plan.events_path.stat().st_size)
        whole = plan.events_path.read_bytes() if events else b""
        cut = data.draw(st.integers(0, len(whole)))
        plan.events_path.write_bytes(whole[:cut])
        count = sum(end <= cut for end in ends)
        # A last line of which only the line end is missing is whole as well.
        assert list(plan.events())[:count] == events[:count]
        assert len(list(plan.events())) <= count + 1


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.text(max_size=30))
def test_every_rollout_has_a_folder_of_its_own_inside_its_run(labels: list[str], task: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        run = RunDir(Path(name))
        made = [run.rollout(task, label).path for label in labels]
        assert len(set(made)) == len(labels)
        assert all(path.resolve().is_relative_to(Path(name).resolve()) for path in made)
        assert all(len(path.relative_to(name).parts) == 2 for path in made)


secrets = st.text(string.ascii_letters + string.digits + "-_/+=!", min_size=12, max_size=40).filter(
    lambda text: len(set(text)) > 5
)
around = st.text(string.ascii_letters + " \n{}[]:", max_size=30)


@given(secrets, around, around)
def test_no_form_of_a_secret_is_told(secret: str, before: str, after: str) -> None:
    data = secret.encode()
    forms = [
        secret,
        secret[::-1],
        data.hex(),
        data.hex().upper(),
        quote(secret, safe=""),
        "".join(f"\\x{byte:02x}" for byte in data),
        json.dumps(secret),
    ]
    for form in forms:
        told = redact(f"{before}{form}{after}", [secret])
        assert form not in told
        assert REDACTED in told
    for padding in (b"", b"a", b"ab"):
        whole = base64.b64encode(padding + data + b"tail").decode()
        assert redact(whole, [secret]) != whole


@given(st.text(max_size=80), st.lists(secrets, max_size=3))
def test_text_without_a_secret_stays_and_redacting_twice_is_redacting_once(
    text: str, hidden: list[str]
) -> None:
    once = redact(text, hidden)
    assert redact(once, hidden) == once
    assert redact(text, []) == text


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_a_seeds_environment_never_says_how_a_program_is_loaded(data: bytes) -> None:
    prefixed = b"LD_PRELOAD=/x\nexport PATH=/evil\nPYTHONPATH='/x\n'\nhttps_proxy=x\n" + data
    for name, value in envfile.parse(prefixed).items():
        assert not envfile.is_denied(name)
        assert not name.upper().startswith(("LD_", "PYTHON", "NODE_OPTIONS", "PIP_"))
        assert name not in {"PATH", "POSTGRES_DATABASE_URL", "APPLICATION_PORT"}
        assert "\0" not in value


@given(st.text(max_size=200))
def test_no_text_of_an_apps_passes_for_a_line_of_ours(text: str) -> None:
    marked = quoted_lines(text)
    assert all(line.startswith("> ") for line in marked.split("\n"))
    assert marked.splitlines() == marked.split("\n")
    assert "[end of page data" not in marked
    assert len(as_data(text, 80)) <= 80
