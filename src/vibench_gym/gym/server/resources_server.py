# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The resources server: NeMo Gym's routes, and the parts that answer them.

Annotations are evaluated here: FastAPI reads the requests' types from them.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

from fastapi import FastAPI, HTTPException
from nemo_gym.base_resources_server import SimpleResourcesServer
from nemo_gym.config_types import AggregateMetrics, AggregateMetricsRequest
from pydantic import PrivateAttr

from vibench_gym.core.artifact import ArtifactStore
from vibench_gym.core.errors import OperatorFault
from vibench_gym.core.rundir import RunDir
from vibench_gym.grading.base import GraderSettings, RolloutGrader
from vibench_gym.grading.kinds import GRADERS
from vibench_gym.gym.server import metrics
from vibench_gym.gym.server.config import VibenchResourcesServerConfig
from vibench_gym.gym.server.host_limiter import HostLimiter, default_slots_dir
from vibench_gym.gym.server.startup import (
    app_model,
    check_host,
    folders,
    grader_models,
    vibench_root,
    vibench_settings,
)
from vibench_gym.gym.server.task_rows import TaskRows
from vibench_gym.gym.server.verification import Verification
from vibench_gym.gym.server.verify_cache import VerifyCache
from vibench_gym.gym.wire import (
    VibenchSeedSessionRequest,
    VibenchSeedSessionResponse,
    VibenchVerifyRequest,
    VibenchVerifyResponse,
)
from vibench_gym.stack.kinds import stack_kind


class VibenchResourcesServer(SimpleResourcesServer):
    """ViBench for NeMo Gym: hands out PRDs, grades what was built from them."""

    ray_enabled: ClassVar[bool | None] = False
    config: VibenchResourcesServerConfig
    _verification: Verification | None = PrivateAttr(default=None)

    def setup_webserver(self) -> FastAPI:
        """NeMo Gym's routes over ours.

        Raises:
            SystemExit: the operator has to act; the message says how.
        """
        try:
            verification = self._verification = self.make_verification()
        except OperatorFault as fault:
            raise SystemExit(f"{self.config.name} cannot start: {fault}") from fault
        app = super().setup_webserver()
        inner = app.router.lifespan_context

        @contextlib.asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
            async with inner(app) as state:
                try:
                    yield state
                finally:
                    await verification.cache.aclose()

        app.router.lifespan_context = lifespan
        return app

    def make_verification(self) -> Verification:
        """Check the settings and this host.

        Raises:
            OperatorFault: something is missing.
        """
        config = self.config
        store, run = folders(config)
        rows = TaskRows(
            vibench_root(config),
            max_asset_bytes=config.max_asset_bytes,
            store=ArtifactStore(store),
            app_model=app_model(config) is not None,
        )
        cache = VerifyCache(run / ".answers", cleanup_grace_s=config.cleanup_grace_s)
        return Verification(
            rows=rows,
            store=ArtifactStore(store),
            run=RunDir(run),
            cache=cache,
            grader=self.make_grader(),
            provider=self._provider(),
            keep_traces=config.keep_evaluation_artifacts,
        )

    def make_grader(self) -> RolloutGrader:
        """The grader for this host.

        Raises:
            OperatorFault: something is missing.
        """
        config = self.config
        slots = config.grading_slots_dir
        limiter = HostLimiter(Path(slots) if slots else default_slots_dir(), config.slots)
        settings = GraderSettings(
            stack=config.stack,
            browser=config.browser,
            archive=config.archive,
            grading=config.grader_config,
            limiter=limiter,
            app_model=app_model(config),
            models=lambda: grader_models(config, self.server_client.global_config_dict),
            check_host=lambda: check_host(config),
            vibench=vibench_settings(config),
        )
        return GRADERS[config.grader].make(settings)

    async def seed_session(  # type: ignore[override] # FastAPI reads the body's type from here
        self, body: VibenchSeedSessionRequest
    ) -> VibenchSeedSessionResponse:
        """PRD text and builder assets: all that the builder's side may know.

        Raises:
            HTTPException: 422: the row names no task that can be graded.
        """
        try:
            return await asyncio.to_thread(self._ready.rows.seed, body)
        except OperatorFault as fault:
            raise HTTPException(422, str(fault)) from fault

    async def verify(  # type: ignore[override] # FastAPI reads the body's type from here
        self, body: VibenchVerifyRequest
    ) -> VibenchVerifyResponse:
        """Grade what was built; a repeated call gets the stored answer."""
        return VibenchVerifyResponse.of(body, await self._ready.answer(body))

    async def aggregate_metrics(self, body: AggregateMetricsRequest) -> AggregateMetrics:
        """NeMo Gym's metrics and ours, and the share of masked rows, which it takes out before."""
        shipped = await super().aggregate_metrics(body)
        masking = metrics.masking(body.verify_responses)
        return shipped.model_copy(
            update={
                "agent_metrics": {**shipped.agent_metrics, **masking},
                "key_metrics": {**shipped.key_metrics, **masking},
            }
        )

    def compute_metrics(self, tasks: list[list[dict[str, Any]]]) -> dict[str, Any]:
        """Our metrics over the measured rows, grouped by task."""
        return metrics.compute(tasks)

    def get_key_metrics(self, agent_metrics: dict[str, Any]) -> dict[str, Any]:
        """The headline."""
        return metrics.key_metrics(agent_metrics)

    def _provider(self) -> str:
        """The sandbox of the apps that are graded, by NeMo Gym's name."""
        config = self.config
        own = GRADERS[config.grader].sandbox_provider
        return own if own is not None else stack_kind(config.stack.kind).sandbox_provider

    @property
    def _ready(self) -> Verification:
        if self._verification is None:
            raise RuntimeError("the server was not set up")
        return self._verification
