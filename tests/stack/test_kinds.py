# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The registry of kinds of stacks: a kind is a folder and a line, and nothing else names it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from vibench_gym import stack
from vibench_gym.cli.stacks import stack_config
from vibench_gym.core.config import StackConfig
from vibench_gym.core.errors import ConfigError
from vibench_gym.sandbox.prerequisites import Check
from vibench_gym.stack.base import StackKind
from vibench_gym.stack.compose.builder import ComposeStackBuilder
from vibench_gym.stack.kinds import (
    KINDS,
    require_app_model_route,
    stack_builder,
    stack_checks,
    stack_kind,
)
from vibench_gym.stack.local.builder import LocalStackBuilder
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from vibench_gym.stack.base import StackBuilder

BUILDER = FakeStackBuilder()
CHECKS = [Check("moon", ok=False, detail="not up", fix="wait")]


@pytest.fixture
def moon(monkeypatch: pytest.MonkeyPatch) -> StackKind:
    """A third kind, without images and without a way to a model."""

    def builder(_config: StackConfig, _browser: Path | None) -> StackBuilder:
        return BUILDER

    kind = StackKind(
        name="moon",
        sandbox_provider="moon",
        carries_app_model=False,
        builder=builder,
        checks=lambda _config, _browser: CHECKS,
    )
    monkeypatch.setitem(cast("dict[str, StackKind]", KINDS), kind.name, kind)
    return kind


def test_every_folder_with_a_kind_is_registered() -> None:
    folders = {path.parent.name for path in Path(stack.__file__).parent.glob("*/kind.py")}
    assert set(KINDS) == folders


def test_the_stack_is_the_one_that_was_asked_for() -> None:
    assert isinstance(stack_builder(stack_config("local")), LocalStackBuilder)
    chosen = stack_config("compose", "mine/image")
    assert chosen.compose.app_image == "mine/image"
    assert isinstance(stack_builder(chosen), ComposeStackBuilder)


@pytest.mark.parametrize(
    ("name", "image", "message"),
    [("podman", None, "--stack is one of local, compose; not"), ("local", "x", "--image is for")],
)
def test_what_there_is_not_is_refused(name: str, image: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        stack_config(name, image)
    with pytest.raises(ConfigError, match=r"stack\.kind is one of local, compose; not 'podman'"):
        stack_builder(StackConfig(kind="podman"))


def test_a_third_kind_takes_one_line(moon: StackKind) -> None:
    config = stack_config("moon")
    assert stack_builder(config) is BUILDER
    assert stack_checks(config) == CHECKS
    assert stack_kind(config.kind) is moon
    with pytest.raises(ConfigError, match="--image is for --stack compose"):
        stack_config("moon", "an/image")


def test_a_model_is_refused_only_where_apps_cannot_reach_it(moon: StackKind) -> None:
    for name in ("local", "compose"):
        require_app_model_route(stack_kind(name), "--app-key-env")
    with pytest.raises(ConfigError, match=r"--app-key-env: .* local, compose"):
        require_app_model_route(moon, "--app-key-env")
