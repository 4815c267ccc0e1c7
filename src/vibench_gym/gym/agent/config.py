# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the agent server; the names of the agent that NeMo Gym ships are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from nemo_gym.base_responses_api_agent import BaseResponsesAPIAgentConfig
from nemo_gym.config_types import ModelServerRef, ResourcesServerRef  # noqa: TC002 (as above)
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vibench_gym.gym.agent.harnesses.opencode.install import VERSION


class BoxConfig(BaseModel):
    """What a build box is asked for; passed on to the sandbox provider."""

    model_config = ConfigDict(extra="forbid")

    ttl_s: float | None = Field(default=14_400, gt=0)
    ready_timeout_s: float | None = Field(default=600, gt=0)
    resources: dict[str, Any] = {}
    """`cpu`, `memory_mib`, `disk_gib`; what they mean is the provider's matter."""
    metadata: dict[str, Any] = {}
    env: dict[str, str] = {}
    provider_options: dict[str, Any] = {}


class VibenchAgentConfig(BaseResponsesAPIAgentConfig):
    """Settings of the agent server."""

    resources_server: ResourcesServerRef
    model_server: ModelServerRef
    artifact_dir: str
    """The store of built apps, shared with the resources server; an absolute path."""
    app_workdir: str = "/app"
    concurrency: int = Field(default=8, gt=0)
    """Builds at a time in this process; each holds a box."""
    harvest_timeout_s: float = Field(default=900, gt=0)

    harness: Literal["opencode", "oracle", "nop"] = "opencode"
    """Who builds; `oracle` hands over a tree that is there, `nop` an empty one, without a box."""
    oracle_tree: str | None = None
    """An absolute path to hand over, `{app}` and `{artifact}` filled in; references if None."""
    vibench_repo_root: str | None = None
    """Where the oracle finds reference implementations, before the bundled tasks'."""

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

    app_key_env: str | None = None
    """As the resources server's: for the model that an app calls, so that it can be tried while it
    is built. The key stays outside of the box; other providers than ours give no such model."""
    app_model_base_url: str | None = None

    opencode_version: str = VERSION
    opencode_dir: Path | None = None
    """Where OpenCode is installed; this virtualenv, else the user's cache, where None."""
    opencode_max_context_window: int = Field(default=262_144, gt=0)
    opencode_max_output_tokens: int = Field(default=32_000, gt=0)
    opencode_config: dict[str, Any] = Field(default_factory=dict)
    """Settings of OpenCode's own, merged over ours."""
    preinstalled_opencode: bool = False
    """The boxes' image has `opencode` on its PATH."""
    remote_opencode_binary_path: str | None = None
    """Path of the program in the box, where its image has it elsewhere."""
    remote_opencode_install_script_path: str | None = None
    """Not used: nothing is installed in a box."""
    debug: bool = False

    @field_validator("artifact_dir")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not Path(value).expanduser().is_absolute():
            raise ValueError(f"{value!r} is not absolute: servers run in different folders")
        return value

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        own = not (self.preinstalled_opencode or self.remote_opencode_binary_path)
        if own and self.opencode_version != VERSION:
            raise ValueError(
                f"opencode_version {self.opencode_version!r} is not the one we install ({VERSION}):"
                " leave it out, or set preinstalled_opencode or remote_opencode_binary_path"
            )
        return self
