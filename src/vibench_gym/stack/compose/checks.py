# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a machine must have for the compose stack, checked without changing anything."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import PrerequisiteMissing, VibenchGymError
from vibench_gym.sandbox.prerequisites import Check, python_patch_level
from vibench_gym.stack.compose.engine import LABEL, find_engine
from vibench_gym.stack.compose.images import choose_images

if TYPE_CHECKING:
    from vibench_gym.core.config import ComposeConfig, StackConfig
    from vibench_gym.stack.compose.engine import Engine

_PROGRAMS: Final = {
    "app": "bash tar cp find grep python3 node npm psql",
    "database": "sh postgres initdb",
}
_MISSING: Final = 'for p in {}; do command -v "$p" > /dev/null || printf "%s " "$p"; done'


def compose_checks(config: StackConfig) -> list[Check]:
    """The engine, the images and what is in them; blocks, and may be called anywhere."""
    with ThreadPoolExecutor(max_workers=1) as thread:  # the caller's own loop may be running
        return thread.submit(asyncio.run, _checks(config.compose)).result()


async def _checks(config: ComposeConfig) -> list[Check]:
    try:
        engine = await find_engine(config)
    except PrerequisiteMissing as missing:
        return [Check("Docker engine", False, missing.what, missing.fix), python_patch_level()]
    found = [Check("Docker engine", True, f"answers at {engine.host}")]
    try:
        images = await choose_images(engine, config)
    except PrerequisiteMissing as missing:
        found.append(Check("Docker images", False, missing.what, missing.fix))
    else:
        browser = images.browser_image or images.app_image
        found += [
            await _programs(engine, "app", images.app_image, _PROGRAMS["app"]),
            await _programs(engine, "database", images.database_image or "", _PROGRAMS["database"]),
            await _programs(engine, "browser", browser, f"sh python3 {images.browser_program}"),
        ]
    return [*found, python_patch_level()]


async def _programs(engine: Engine, role: str, image: str, programs: str) -> Check:
    name = f"{role} image"
    fix = f"use an image with {programs}, or make one of this host's: vibench-gym images"
    container = f"vibench-gym-check-{secrets.token_hex(6)}"
    try:
        missing = await engine.must(
            "run", "--rm", "--network", "none", "--name", container, "--label", f"{LABEL}=check",
            "--cap-drop", "ALL", "--entrypoint", "sh", image, "-c", _MISSING.format(programs),
        )  # fmt: skip
    except VibenchGymError as error:
        return Check(name, False, f"{image}: {error}", fix)
    if missing:
        return Check(name, False, f"{image} lacks {missing}", fix)
    return Check(name, True, image)
