# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the sandbox provider that the agent's settings name, and the specs of its build boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nemo_gym.sandbox import SandboxResources, SandboxSpec, create_provider
from nemo_gym.sandbox.config import resolve_provider_config, resolve_provider_metadata

from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.box.model_route import MODEL_URL_OPTION, ModelUrl
from vibench_gym.gym.box.provider import APP_MODEL_OPTION, MOUNTS_OPTION, BubblewrapProvider

if TYPE_CHECKING:
    from nemo_gym.sandbox.providers.base import SandboxProvider

    from vibench_gym.gym.agent.config import VibenchAgentConfig
    from vibench_gym.gym.agent.harnesses.base import BoxHarness

OWN_PROVIDER = BubblewrapProvider.name
_DEFAULT_BLOCK = "sandbox"


@dataclass(frozen=True, slots=True)
class BuildBoxes:
    """Makes the provider and the box specs of one agent."""

    config: VibenchAgentConfig
    blocks: Any
    """NeMo Gym's whole configuration, in which `sandbox_provider` may name a block."""

    @property
    def reference(self) -> str | dict[str, Any]:
        """The setting, or our provider where the default's block is not in the configuration."""
        named = self.config.sandbox_provider
        if named == _DEFAULT_BLOCK and _DEFAULT_BLOCK not in (self.blocks or {}):
            return {OWN_PROVIDER: {}}
        return named

    @property
    def provider_block(self) -> dict[str, Any]:
        """Name and settings of the sandbox provider, as the sandbox API wants them.

        Raises:
            ConfigError: the block named in `sandbox_provider` is not one.
        """
        try:
            return resolve_provider_config(self.reference, self.blocks)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"sandbox_provider: {error}") from error

    @property
    def provider_name(self) -> str:
        """The provider's name in the configuration."""
        return next(iter(self.provider_block))

    def make_provider(self) -> SandboxProvider:
        """A provider; its boxes are closed one by one.

        Raises:
            ConfigError: it is unknown or its settings are wrong.
        """
        block = self.provider_block
        try:
            return create_provider(block)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"sandbox_provider: {error}") from error

    def executable(self, harness: BoxHarness) -> str | None:
        """The harness's program as a box has it, or None where it has to be copied there."""
        program = harness.program
        if program is None:
            return harness.image_executable
        return program.box_path if self.provider_name == OWN_PROVIDER else None

    def spec(self, harness: BoxHarness, model: ModelUrl, *, app_model: bool = False) -> SandboxSpec:
        """One box for a build with `harness`; `model` is the model server as this host sees it."""
        config, box = self.config, self.config.sandbox_config
        options = dict(box.provider_options)
        if self.provider_name == OWN_PROVIDER:
            mounts = dict(options.get(MOUNTS_OPTION, {}))
            if (program := harness.program) is not None:
                mounts[program.box_folder] = str(program.folder)
            options |= {MODEL_URL_OPTION: model.base_url, MOUNTS_OPTION: mounts}
            if app_model and config.app_key_env:
                url = config.app_model_base_url
                named = {} if url is None else {"base_url": url}
                options[APP_MODEL_OPTION] = {"api_key_env": config.app_key_env, **named}
        metadata = resolve_provider_metadata(self.reference, self.blocks)
        return SandboxSpec(
            image=config.build_image,
            ttl_s=box.ttl_s,
            ready_timeout_s=box.ready_timeout_s,
            workdir=config.app_workdir,
            env=dict(box.env),
            metadata={**metadata, **box.metadata, "nemo_gym_agent": config.name},
            resources=SandboxResources.from_mapping(box.resources),
            provider_options=options,
        )
