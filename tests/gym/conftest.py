# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the builder's side share: a provider, an endpoint, a builder over both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from nemo_gym.sandbox import SandboxSpec

from vibench_gym.core.artifact import ArtifactStore
from vibench_gym.gym.agent.build import Builder, BuildRequest, BuildResult
from vibench_gym.gym.agent.model_control import ModelControl
from vibench_gym.gym.box.model_route import MODEL_URL_OPTION, ModelUrl
from vibench_gym.gym.box.provider import BubblewrapProvider
from vibench_gym.testing.policies import Scripted, Turn
from vibench_gym.testing.policy_server import PolicyServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from support.gym_servers.building import BuildWith
    from vibench_gym.gym.agent.harnesses.base import BoxHarness

RUN = "/ng-rollout/3-1"


@pytest.fixture
async def provider() -> AsyncIterator[BubblewrapProvider]:
    made = BubblewrapProvider()
    yield made
    await made.aclose()


@pytest.fixture
async def policy() -> AsyncIterator[PolicyServer]:
    """An endpoint whose model says one sentence."""
    async with PolicyServer({"policy": Scripted((Turn("Hello."),))}, "policy") as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "store")


@pytest.fixture
def build_with(
    provider: BubblewrapProvider, policy: PolicyServer, store: ArtifactStore
) -> BuildWith:
    """Builds with a harness in a bubblewrap box that is routed to an endpoint."""

    async def build(
        harness: BoxHarness,
        *,
        port: int | None = None,
        limit_s: float = 240,
        patience_s: float = 60,
        files: Mapping[str, bytes] | None = None,
        prompt: str = "Build ./prd.txt",
        pictures: bool = True,
        **options: Any,
    ) -> BuildResult:
        model = ModelUrl("http", "127.0.0.1", port or policy.port, RUN)
        program = harness.program
        builder = Builder(
            provider=provider,
            harness=harness,
            store=store,
            workdir="/app",
            time_limit_s=limit_s,
            harvest_timeout_s=60,
            executable=harness.image_executable if program is None else program.box_path,
        )
        request = BuildRequest(
            prompt=prompt,
            base_url=model.inside("bubblewrap", None).base_url,
            control=ModelControl(model, patience_s),
            files={"/app/prd.txt": b"Build a shop."} if files is None else files,
            pictures=pictures,
        )
        mounts = {} if program is None else {program.box_folder: str(program.folder)}
        given = {MODEL_URL_OPTION: model.base_url, "mounts": mounts, **options}
        return await builder.build(request, SandboxSpec(workdir="/app", provider_options=given))

    return build
