# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What an app is made with, by its own manifests: shown to people, nothing depends on it."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PYTHON = {
    "django": "Django",
    "fastapi": "FastAPI",
    "flask": "Flask",
    "starlette": "Starlette",
    "aiohttp": "aiohttp",
    "tornado": "Tornado",
    "streamlit": "Streamlit",
}
_NODE = {
    "next": "Next.js",
    "express": "Express",
    "fastify": "Fastify",
    "koa": "Koa",
    "hono": "Hono",
    "@nestjs/core": "NestJS",
    "react": "React",
    "vue": "Vue",
    "svelte": "Svelte",
    "@angular/core": "Angular",
    "vite": "Vite",
}
_SKIPPED = frozenset({"node_modules", "dist", "build", "venv", "site-packages", "__pycache__"})
MAX_DEPTH = 3
MAX_MANIFESTS = 40
MAX_FOLDERS = 2_000
MAX_MANIFEST_BYTES = 512 * 1024


def frameworks(app: Path) -> tuple[str, ...]:
    """Known frameworks that the app's manifests name, servers before front ends.

    Where none is known, the languages of the manifests; nothing where there is no manifest.
    """
    known: set[str] = set()
    languages: set[str] = set()
    for path in _manifests(app):
        text = _text(path)
        if path.name == "package.json":
            languages.add("Node")
            known |= {_NODE[name] for name in _node_packages(text) & _NODE.keys()}
        else:
            languages.add("Python")
            names = set(re.findall(r"[a-z0-9_.-]+", text.lower()))
            known |= {_PYTHON[name] for name in names & _PYTHON.keys()}
    order = [*_PYTHON.values(), *_NODE.values()]
    return tuple(sorted(known, key=order.index)) or tuple(sorted(languages))


def _manifests(app: Path) -> Iterator[Path]:
    """Manifests below a tree that may be hostile: links are not followed, the walk is bounded."""
    found = 0
    for count, (place, folders, files) in enumerate(app.walk(follow_symlinks=False)):
        if count >= MAX_FOLDERS or found >= MAX_MANIFESTS:
            return
        deep = len(place.relative_to(app).parts) >= MAX_DEPTH
        folders[:] = (
            []
            if deep
            else sorted(n for n in folders if n not in _SKIPPED and not n.startswith("."))
        )
        for name in sorted(files):
            if name in ("package.json", "pyproject.toml", "Pipfile") or re.fullmatch(
                r"requirements[\w.-]*\.txt", name
            ):
                found += 1
                yield place / name


def _text(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return file.read(MAX_MANIFEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _node_packages(text: str) -> set[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    if not isinstance(value, dict):
        return set()
    groups = (value.get(key) for key in ("dependencies", "devDependencies"))
    return {name for group in groups if isinstance(group, dict) for name in group}
