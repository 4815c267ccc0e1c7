# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.grading import make_app
from vibench_gym.core.config import ArchiveBudget
from vibench_gym.core.errors import SeedingFailed
from vibench_gym.grading.vibench.kept_output import keep_text, keep_tree
from vibench_gym.grading.vibench.staging import stage_app, stage_seeding

if TYPE_CHECKING:
    from pathlib import Path

BUDGET = ArchiveBudget()
PNG = b"\x89PNG\r\n\x1a\n..."


def links_below(root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*") if path.is_symlink()]


def test_links_become_what_they_lead_to(tmp_path: Path) -> None:
    app = make_app(tmp_path / "app")
    (app / "lib").mkdir()
    (app / "lib/a.js").write_text("a", encoding="utf-8")
    (app / "b.js").symlink_to("lib/a.js")
    (app / "c.js").symlink_to("b.js")
    (app / "copy").symlink_to("lib")
    staged = tmp_path / "staged"
    stage_app(app, staged, BUDGET)

    assert links_below(staged) == []
    assert (staged / "b.js").read_text(encoding="utf-8") == "a"
    assert (staged / "copy/a.js").read_text(encoding="utf-8") == "a"


def test_chains_of_links_become_what_they_lead_to(tmp_path: Path) -> None:
    app = make_app(tmp_path / "app")
    (app / "data/deep").mkdir(parents=True)
    (app / "data/photo").write_text("picture", encoding="utf-8")
    for name, target in (
        ("uploads", "storage"),
        ("storage", "data"),
        ("a-short", "z-way/../photo"),  # replaced before the link that it passes, and after
        ("z-photo", "a-way/../photo"),
        ("a-way", "data/deep"),
        ("z-way", "data/deep"),
    ):
        (app / name).symlink_to(target)
    staged = tmp_path / "staged"

    assert stage_app(app, staged, BUDGET) == ()
    assert links_below(staged) == []
    for name in ("uploads/photo", "storage/photo", "a-short", "z-photo"):
        assert (staged / name).read_text(encoding="utf-8") == "picture", name


def test_links_that_lead_out_or_in_circles_are_dropped_and_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key", encoding="utf-8")
    app = make_app(tmp_path / "app")
    (app / "deep").mkdir()
    (app / "out").symlink_to("../secret")
    (app / "passwd").symlink_to("/etc/passwd")
    (app / "deep/loop").symlink_to("..")
    (app / "self").symlink_to("self")
    (app / "gone").symlink_to("nothing")
    staged = tmp_path / "staged"
    dropped = stage_app(app, staged, BUDGET)

    assert links_below(staged) == []
    for name in ("out", "passwd", "deep/loop", "self", "gone"):
        assert not os.path.lexists(staged / name)
        assert any(name in one for one in dropped), name
    shutil.copytree(staged, tmp_path / "as the scripts do")


def test_links_do_not_multiply(tmp_path: Path) -> None:
    app = make_app(tmp_path / "app")
    for level in range(12):
        (app / f"d{level}").mkdir()
        (app / f"d{level}/data").write_bytes(b"x" * 1000)
        for name in ("p", "q", "r"):
            (app / f"d{level}/{name}").symlink_to(f"../d{level + 1}")
    (app / "d12").mkdir()
    staged = tmp_path / "staged"
    stage_app(app, staged, BUDGET.model_copy(update={"logical_bytes": 40_000}))

    found = list(staged.rglob("*"))
    assert links_below(staged) == []
    assert len(found) < 1000
    assert sum(path.stat().st_size for path in found if path.is_file()) < 100_000


@pytest.mark.parametrize("data", [b"*.pyc\n\xff\xfe", None])
def test_an_ignore_file_that_would_break_the_scripts(tmp_path: Path, data: bytes | None) -> None:
    app = make_app(tmp_path / "app")
    ignore = app / ".dockerignore"
    if data is None:
        ignore.mkdir()
        (ignore / "x").touch()
    else:
        ignore.write_bytes(data)
    dropped = stage_app(app, tmp_path / "staged", BUDGET)

    assert not (tmp_path / "staged/.dockerignore").exists()
    assert any(".dockerignore" in one for one in dropped)


def test_an_app_as_it_is(tmp_path: Path) -> None:
    app = make_app(tmp_path / "app")
    (app / ".dockerignore").write_text("*.pyc\n", encoding="utf-8")

    assert stage_app(app, tmp_path / "staged", BUDGET) == ()
    assert (tmp_path / "staged/.dockerignore").exists()


def seeding(folder: Path) -> Path:
    folder.mkdir()
    (folder / "seed.sh").write_text("echo\n", encoding="utf-8")
    return folder


def test_a_seed_is_files_only(tmp_path: Path) -> None:
    seed = seeding(tmp_path / "seeding")
    (seed / "environ").symlink_to("/proc/self/environ")
    os.mkfifo(seed / "pipe")
    (seed / "data").mkdir()
    (seed / "data/rows.json").write_text("[]", encoding="utf-8")
    staged = tmp_path / "staged"
    dropped = stage_seeding(seed, staged, BUDGET)

    assert sorted(path.name for path in staged.rglob("*")) == ["data", "rows.json", "seed.sh"]
    assert len(dropped) == 2


def test_the_environment_file_holds_assignments_only(tmp_path: Path) -> None:
    seed = seeding(tmp_path / "seeding")
    (seed / ".env.seeding").write_text(
        "RULES='{\"cash\": 1500}'\nexport NAME=$(touch /tmp/run)\ncurl http://host\n"
        "AGENT_EVALUATION_LLM_ENDPOINT=http://evil\nLD_PRELOAD=/app/x.so\n",
        encoding="utf-8",
    )
    staged = tmp_path / "staged"
    stage_seeding(seed, staged, BUDGET)

    shell = f'set -a; . "{staged}/.env.seeding"; printf "%s|%s" "$RULES" "$NAME"'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout == '{"cash": 1500}|$(touch /tmp/run)'
    text = (staged / ".env.seeding").read_text(encoding="utf-8")
    assert "AGENT_" not in text
    assert "LD_PRELOAD" not in text
    assert "curl" not in text


def test_a_seed_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(SeedingFailed, match="no 'seeding' folder"):
        stage_seeding(tmp_path / "none", tmp_path / "a", BUDGET)
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(SeedingFailed, match="no 'seeding' folder"):
        stage_seeding(tmp_path / "link", tmp_path / "b", BUDGET)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SeedingFailed, match=r"no 'seed\.sh'"):
        stage_seeding(tmp_path / "empty", tmp_path / "c", BUDGET)
    seed = seeding(tmp_path / "large")
    small = BUDGET.model_copy(update={"members": 1})
    (seed / "more").touch()
    with pytest.raises(SeedingFailed, match="cannot be used"):
        stage_seeding(seed, tmp_path / "d", small)


def test_what_is_kept_is_clean(tmp_path: Path) -> None:
    def clean(text: str) -> str:
        return text.replace("hunter2", "-")

    source, kept = tmp_path / "out", tmp_path / "kept"
    (source / "traces").mkdir(parents=True)
    (source / "traces/a.json").write_text('{"key": "hunter2"}', encoding="utf-8")
    (source / "shot.png").write_bytes(PNG)
    (source / "fake.png").write_text("hunter2", encoding="utf-8")
    (source / "blob.bin").write_text("hunter2", encoding="utf-8")
    (source / "hunter2.log").write_text("x", encoding="utf-8")
    (source / "link.log").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe.log")
    (source / "large.log").write_bytes(b"x" * 5_000_000)

    assert keep_tree(source, kept, clean) == 2
    keep_text(kept, "seed.log", "hunter2 said", clean)
    found = {
        str(path.relative_to(kept)): path.read_bytes() for path in kept.rglob("*") if path.is_file()
    }
    assert found == {
        "vibench/traces/a.json": b'{"key": "-"}',
        "vibench/shot.png": PNG,
        "vibench/seed.log": b"- said",
    }
