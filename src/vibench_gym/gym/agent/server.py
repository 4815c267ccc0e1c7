# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The agent server: seeds a session, has the app built in a box of its own, asks for the reward.

Its settings have the names of the agent that NeMo Gym ships for ViBench, so that either's
configuration starts the other. It knows the brief and the artifact; plans and test assets never
come to this process. Whatever happens to a build, `/verify` is asked, so that every rollout has a
row that says what it was worth, or why it was not measured.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fastapi import Body, FastAPI, HTTPException, Request
from nemo_gym.base_responses_api_agent import SimpleResponsesAPIAgent
from nemo_gym.config_types import AggregateMetrics, AggregateMetricsRequest
from nemo_gym.openai_utils import NeMoGymResponse, NeMoGymResponseCreateParamsNonStreaming
from nemo_gym.sandbox import SandboxResources, SandboxSpec, create_provider
from nemo_gym.sandbox.config import resolve_provider_config, resolve_provider_metadata
from nemo_gym.server_utils import get_response_json, raise_for_status
from pydantic import PrivateAttr

from vibench_gym.core.artifact import ArtifactStore
from vibench_gym.core.errors import ArtifactRejected, ConfigError
from vibench_gym.gym.agent import observations
from vibench_gym.gym.agent.build import Build, Builder, BuildOrder
from vibench_gym.gym.agent.config import VibenchAgentConfig
from vibench_gym.gym.agent.harnesses.given_tree import GivenTree
from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode
from vibench_gym.gym.agent.harnesses.opencode.install import BOX_FOLDER, ensure
from vibench_gym.gym.agent.model_control import ModelControl
from vibench_gym.gym.agent.prompt import harness_prompt
from vibench_gym.gym.agent.rollout_row import brief_files, build_fields, response_of
from vibench_gym.gym.box.model_route import MODEL_URL_OPTION, ModelUrl
from vibench_gym.gym.box.provider import APP_MODEL_OPTION, MOUNTS_OPTION
from vibench_gym.gym.private_folder import private_folder
from vibench_gym.gym.wire import (
    MAX_DETAIL_CHARS,
    HarnessStatus,
    VibenchRunRequest,
    VibenchSeedSessionResponse,
    VibenchVerifyResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nemo_gym.sandbox.providers.base import SandboxProvider

    from vibench_gym.gym.agent.harnesses.base import Harness

OWN_PROVIDER = "bubblewrap"


class VibenchAgent(SimpleResponsesAPIAgent):
    """Builds apps with a coding harness; see the module."""

    ray_enabled = False
    config: VibenchAgentConfig
    _slots: asyncio.Semaphore = PrivateAttr()
    _provider: "SandboxProvider | None" = PrivateAttr(default=None)
    _harness: "Harness | None" = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        """Prepare what rollouts share; nothing is started yet."""
        super().model_post_init(context)
        self._slots = asyncio.Semaphore(self.config.concurrency)

    def setup_webserver(self) -> FastAPI:
        """The routes; refuses to start where no rollout could work.

        Raises:
            ConfigError: a setting is wrong, or the store is not a folder of ours.
            PrerequisiteMissing: the harness is not there and cannot be installed.
        """
        if self.given is None:
            self.harness.check()
            _ = self.provider
        else:
            self.given.check()
        private_folder(self.store.root)
        return super().setup_webserver()

    @property
    def store(self) -> ArtifactStore:
        """Where apps are kept, together with the resources server."""
        return ArtifactStore(Path(self.config.artifact_dir).expanduser())

    @property
    def given(self) -> GivenTree | None:
        """Who hands over trees in the place of a harness; None where there is a harness."""
        config = self.config
        if config.harness == "opencode":
            return None
        root = config.vibench_repo_root
        return GivenTree(
            config.harness,
            self.store,
            vibench_root=Path(root).expanduser() if root else None,
            pattern=config.oracle_tree,
        )

    @property
    def harness(self) -> "Harness":
        """The coding harness, made once."""
        if self._harness is None:
            config = self.config
            inside = config.preinstalled_opencode or config.remote_opencode_binary_path
            self._harness = OpenCode(
                None if inside else ensure(config.opencode_dir),
                context_tokens=config.opencode_max_context_window,
                output_tokens=config.opencode_max_output_tokens,
                settings=config.opencode_config,
                debug=config.debug,
            )
        return self._harness

    @property
    def provider_block(self) -> dict[str, Any]:
        """Name and settings of the sandbox provider, as the sandbox API wants them.

        Raises:
            ConfigError: the block named in `sandbox_provider` is not one.
        """
        wanted, named = self.config.sandbox_provider, self.server_client.global_config_dict
        if wanted == "sandbox" and "sandbox" not in (named or {}):
            return {OWN_PROVIDER: {}}
        try:
            return resolve_provider_config(wanted, named)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"sandbox_provider: {error}") from error

    @property
    def provider(self) -> "SandboxProvider":
        """The provider, made once; its boxes are closed one by one.

        Raises:
            ConfigError: it is unknown or its settings are wrong.
        """
        if self._provider is None:
            try:
                self._provider = create_provider(self.provider_block)
            except (TypeError, ValueError) as error:
                raise ConfigError(f"sandbox_provider: {error}") from error
        return self._provider

    async def run(  # type: ignore[override]  # NeMo Gym passes the request to those that take it
        self,
        request: Request,
        body: VibenchRunRequest = Body(),  # noqa: B008 (FastAPI's way)
    ) -> VibenchVerifyResponse:
        """One rollout: a task in, a rewarded row out."""
        async with self._slots:
            return await self._run(request, body)

    async def _run(self, request: Request, body: VibenchRunRequest) -> VibenchVerifyResponse:
        rollout_id = self.rollout_id_from_run(body)
        build, cookies = await self._built(request, body, rollout_id)
        response = response_of(body.responses_create_params, build, self.config.model_server.name)
        verified = await self.server_client.post(
            server_name=self.config.resources_server.name,
            url_path="/verify",
            json={
                **body.model_dump(),
                # Left out of dumps by NeMo Gym; it names the rollout in reports.
                **({"_ng_rollout_id": named} if (named := body.capture_rollout_id) else {}),
                "response": response.model_dump(),
                "artifact_sha256": build.artifact_sha256,
                "rollout_id": uuid4().hex,
                "harness_status": build.status.value,
                "harness_detail": build.detail[:MAX_DETAIL_CHARS],
            },
            cookies=cookies,
        )
        await raise_for_status(verified)
        row: dict[str, Any] = await get_response_json(verified)
        seen = row.pop(observations.VERIFIER_OBSERVATION, None)
        row |= build_fields(build, self.config.harness)
        if rollout_id is not None:
            row["ng_agent_observations"] = observations.observe(
                build, rollout_id=rollout_id, source=self.config.harness, verifier=seen
            )
        return VibenchVerifyResponse.model_validate(row)

    async def _built(
        self, request: Request, body: VibenchRunRequest, rollout_id: str | None
    ) -> tuple[Build, dict[str, str]]:
        """What came of the row, and the cookies of its session."""
        cookies = dict(request.cookies)
        if self.given is not None:
            # It needs to know nothing of the task, and no session: `/verify` says what was wrong.
            return await self.given.build(body), cookies
        seeded = await self.server_client.post(
            server_name=self.config.resources_server.name,
            url_path="/seed_session",
            json=body.model_dump(),
            cookies=request.cookies,
        )
        await raise_for_status(seeded)
        seed = VibenchSeedSessionResponse.model_validate(await get_response_json(seeded))
        cookies |= {key: morsel.value for key, morsel in seeded.cookies.items()}
        if seed.skip_reason is not None:
            return Build(HarnessStatus.SKIPPED, seed.skip_reason), cookies
        tree = None
        if (digest := seed.starting_tree_sha256) is not None:
            try:
                tree = await asyncio.to_thread(self.store.path, digest)
            except ArtifactRejected:
                reason = f"{digest} is not in the store {self.store.root}: set one artifact_dir"
                return Build(HarnessStatus.NO_STARTING_TREE, reason), cookies
        files = brief_files(seed, self.config.app_workdir)
        params = body.responses_create_params
        build = await self._build(
            params, files, tree=tree, app_model=seed.needs_app_key, rollout_id=rollout_id
        )
        return build, cookies

    async def responses(  # type: ignore[override]  # as above
        self,
        request: Request,
        body: NeMoGymResponseCreateParamsNonStreaming = Body(),  # noqa: B008 (FastAPI's way)
    ) -> NeMoGymResponse:
        """The harness's answer to one prompt, in a box of its own that is gone afterwards.

        Raises:
            HTTPException: 422: this agent has no harness.
        """
        if self.given is not None:
            raise HTTPException(422, f"the agent {self.config.harness!r} builds rows, not prompts")
        rollout_id = request.path_params.get("rollout_id")
        async with self._slots:
            build = await self._build(body, {}, rollout_id=rollout_id)
        return response_of(body, build, self.config.model_server.name)

    async def aggregate_metrics(
        self,
        body: AggregateMetricsRequest = Body(),  # noqa: B008 (FastAPI's way)
    ) -> AggregateMetrics:
        """The resources server's metrics: it knows what the numbers mean."""
        response = await self.server_client.post(
            server_name=self.config.resources_server.name,
            url_path="/aggregate_metrics",
            json=body,
        )
        await raise_for_status(response)
        return AggregateMetrics.model_validate(await get_response_json(response))

    async def _build(
        self,
        params: NeMoGymResponseCreateParamsNonStreaming,
        files: "Mapping[str, bytes]",
        *,
        rollout_id: str | None,
        tree: Path | None = None,
        app_model: bool = False,
    ) -> Build:
        config = self.config
        name = next(iter(self.provider_block))
        outside = ModelUrl.parse(self.resolve_model_base_url(config.model_server.name, rollout_id))
        builder = Builder(
            provider=self.provider,
            harness=self.harness,
            store=self.store,
            workdir=config.app_workdir,
            time_limit_s=config.sandbox_timeout,
            harvest_timeout_s=config.harvest_timeout_s,
            executable=self._executable(name),
        )
        order = BuildOrder(
            prompt=harness_prompt(params),
            base_url=outside.inside(name, config.sandbox_model_base_url).base_url,
            control=ModelControl(outside, config.model_patience_s),
            files=files,
            tree=tree,
            temperature=params.temperature,
            top_p=params.top_p,
        )
        return await builder.build(order, self._spec(name, outside, app_model=app_model))

    def _executable(self, provider: str) -> str | None:
        """The harness's program as a box has it, or None where it has to be brought."""
        config, program = self.config, self.harness.program
        if config.remote_opencode_binary_path:
            return config.remote_opencode_binary_path
        if provider == OWN_PROVIDER and program is not None:
            return program.box_path
        return self.harness.name if program is None else None

    def _spec(self, provider: str, model: ModelUrl, *, app_model: bool = False) -> SandboxSpec:
        config, box = self.config, self.config.sandbox_config
        options = dict(box.provider_options)
        program = self.harness.program
        if provider == OWN_PROVIDER:
            mounts = dict(options.get(MOUNTS_OPTION, {}))
            if program is not None:
                mounts[BOX_FOLDER] = str(program.folder)
            options |= {MODEL_URL_OPTION: model.base_url, MOUNTS_OPTION: mounts}
            if app_model and config.app_key_env:
                url = config.app_model_base_url
                named = {} if url is None else {"base_url": url}
                options[APP_MODEL_OPTION] = {"api_key_env": config.app_key_env, **named}
        metadata = resolve_provider_metadata(
            self._block_reference(), self.server_client.global_config_dict
        )
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

    def _block_reference(self) -> str | dict[str, Any]:
        wanted = self.config.sandbox_provider
        named = self.server_client.global_config_dict
        if wanted == "sandbox" and "sandbox" not in (named or {}):
            return {OWN_PROVIDER: {}}
        return wanted
