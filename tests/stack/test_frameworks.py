# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from vibench_gym.stack import frameworks as module
from vibench_gym.stack.frameworks import frameworks

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"requirements.txt": "Flask==2.3\npsycopg2-binary"}, ("Flask",)),
        ({"pyproject.toml": 'dependencies = ["django>=5"]'}, ("Django",)),
        (
            {
                "frontend/package.json": json.dumps(
                    {"dependencies": {"react": "18"}, "devDependencies": {"vite": "7"}}
                ),
                "backend/requirements.txt": "fastapi",
            },
            ("FastAPI", "React", "Vite"),
        ),
        ({"package.json": '{"dependencies": {"left-pad": "1"}}'}, ("Node",)),
        ({"requirements-dev.txt": "requests"}, ("Python",)),
        ({"index.html": "flask"}, ()),
        ({"node_modules/x/package.json": '{"dependencies": {"express": "4"}}'}, ()),
        ({"a/b/c/d/requirements.txt": "flask"}, ()),
        ({"package.json": "[" * 100_000}, ("Node",)),
        ({"package.json": '["express"]', "a/package.json": '{"dependencies": 1}'}, ("Node",)),
    ],
)
def test_named_by_their_manifests(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert frameworks(write(tmp_path, files)) == expected


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"requirements.txt": "flask"})
    app = write(tmp_path / "app", {"app.py": ""})
    (app / "requirements.txt").symlink_to(outside / "requirements.txt")
    os.mkfifo(app / "package.json")
    (app / "linked").symlink_to(outside)
    assert frameworks(app) == ("Node", "Python")


def test_the_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FOLDERS", 3)
    app = write(tmp_path, {f"f{n}/x": "" for n in range(5)} | {"g/requirements.txt": "flask"})
    assert frameworks(app) == ()
