# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the agent server, by the names that NeMo Gym's own ViBench agent uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nemo_gym.base_responses_api_agent import BaseResponsesAPIAgentConfig
from nemo_gym.config_types import ModelServerRef, ResourcesServerRef  # noqa: TC002 (as above)
from pydantic import BaseModel, ConfigDict, Field, field_validator

from vibench_gym.gym.agent.harnesses.given_tree import OracleSettings
from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode, OpenCodeSettings
from vibench_gym.gym.agent.harnesses.registry import HARNESSES


class BoxConfig(BaseModel):
    """What a build box gets; passed on to the sandbox provider."""

    model_config = ConfigDict(extra="forbid")

    ttl_s: float | None = Field(default=14_400, gt=0)
    ready_timeout_s: float | None = Field(default=600, gt=0)
    resources: dict[str, Any] = {}
    """`cpu`, `memory_mib`, `disk_gib`; the provider decides what they mean."""
    metadata: dict[str, Any] = {}
    env: dict[str, str] = {}
    provider_options: dict[str, Any] = {}


class VibenchAgentConfig(OpenCodeSettings, OracleSettings, BaseResponsesAPIAgentConfig):
    """Settings of the agent server, those of two harnesses among them."""

    resources_server: ResourcesServerRef
    model_server: ModelServerRef
    artifact_dir: str
    """The store of built apps, shared with the resources server; an absolute path."""
    app_workdir: str = "/app"
    concurrency: int = Field(default=8, gt=0)
    """Builds at a time in this process; each holds a box."""
    harvest_timeout_s: float = Field(default=900, gt=0)

    harness: str = OpenCode.name
    """Who builds: a name of `harnesses/registry.py`."""
    harness_options: dict[str, Any] = Field(default_factory=dict)
    """Settings of that harness, by the names of its `settings_model`; checked when the server
    starts. OpenCode's and the oracle's may stand beside this too, where the shipped agent's are."""

    sandbox_provider: str | dict[str, Any] = "sandbox"
    """A named block of the configuration, or a provider and its settings; `bubblewrap` where the
    configuration has no block of the default's name."""
    sandbox_config: BoxConfig = BoxConfig()
    sandbox_timeout: float = Field(default=5400, gt=0)
    """The harness's time; it ends the harness, not the rollout."""
    build_image: str | None = None
    """For providers that start from images."""
    sandbox_model_base_url: str | None = None
    """The model server as boxes see it, where that is another address; the run's path is kept."""
    model_patience_s: float = Field(default=180, gt=0)
    """How long the model may be gone before the harness is not left waiting for it."""
    model_takes_pictures: bool | None = None
    """Whether the harness may show it pictures; None: the model is asked once, with a small one."""

    app_key_env: str | None = None
    """As the resources server's: for the model that an app calls, so that it can be tried while it
    is built. The key stays outside of the box; other providers than ours give no such model."""
    app_model_base_url: str | None = None

    @field_validator("artifact_dir")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not Path(value).expanduser().is_absolute():
            raise ValueError(f"{value!r} is not absolute: servers run in different folders")
        return value

    @field_validator("harness")
    @classmethod
    def _registered(cls, value: str) -> str:
        if value not in HARNESSES:
            raise ValueError(f"there is no harness {value!r}, but {', '.join(HARNESSES)}")
        return value
