# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A Docker engine to test on: the one that DOCKER_HOST names.

`.ci/run` starts one of its own (`scripts/docker_engine.py`); by hand:
`scripts/docker_engine.py .venv/bin/pytest tests/docker`. Tests run beside each other on it: what
one makes carries a word of its own.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.docker.compose_lab import ComposeLab, ready_image, settings
from support.docker.images import import_image, left_of
from support.docker.vibench_lab import VibenchLab
from support.docker.vibench_stub import IMAGE
from vibench_gym.stack.cache import locked
from vibench_gym.stack.compose.builder import ComposeStackBuilder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from vibench_gym.stack.compose.builder import ComposePreparedApp
    from vibench_gym.stack.compose.host import ComposeHost

APPS = Path(__file__).parent.parent / "apps"


@pytest.fixture(scope="session")
def stub_image() -> str:
    """The image that the stand-in's containers start from."""
    import_image(IMAGE)
    return IMAGE


@pytest.fixture
def lab(tmp_path: Path, stub_image: str) -> Iterator[VibenchLab]:
    """ViBench's graders over the stand-in; nothing may be left of it."""
    del stub_image
    token = secrets.token_hex(4)
    yield VibenchLab(tmp_path, token)
    assert left_of(token) == []


@pytest.fixture(scope="session")
def compose_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where templates are kept: one place for all of a run's processes."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return shared / "compose-cache"


@pytest.fixture(scope="session")
def compose_host(compose_cache: Path) -> ComposeHost:
    """Engine, image and template of the compose stack, made once in a run."""
    compose_cache.mkdir(exist_ok=True)
    config = settings(compose_cache)
    with locked(compose_cache / ".image.lock"):
        asyncio.run(ready_image(config))
        return asyncio.run(ComposeStackBuilder(config).find_host())


@pytest.fixture
async def compose_lab(compose_host: ComposeHost, compose_cache: Path) -> AsyncIterator[ComposeLab]:
    lab = ComposeLab(APPS, compose_host, compose_cache)
    yield lab
    await lab.close()


@pytest.fixture(scope="session")
def plain_app(compose_host: ComposeHost, compose_cache: Path) -> Iterator[ComposePreparedApp]:
    """An app that is set up once and stood up by many tests."""
    lab = ComposeLab(APPS, compose_host, compose_cache)
    yield asyncio.run(lab.prepare("good/plain"))
    asyncio.run(lab.close())
