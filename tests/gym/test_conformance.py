# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Every method that we override in NeMo Gym, against the NeMo Gym that is installed."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from nemo_gym.base_resources_server import (
    BaseMultiRewardVerifyResponse,
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.base_responses_api_agent import SimpleResponsesAPIAgent
from nemo_gym.failure_kinds import is_namespaced, is_registered
from nemo_gym.server_utils import SimpleServer

from support.signatures import misfits, overrides
from vibench_gym.core import errors
from vibench_gym.core.status import ArtifactStatus, PlanStatus
from vibench_gym.gym.agent.server import VibenchAgent
from vibench_gym.gym.server.answers import gym_kind
from vibench_gym.gym.server.resources_server import VibenchResourcesServer
from vibench_gym.gym.wire import VibenchVerifyRequest, VibenchVerifyResponse

pytestmark = pytest.mark.gym
SERVERS = (VibenchResourcesServer, VibenchAgent)
OVERRIDDEN = [
    pytest.param(server, base, name, id=f"{server.__name__}.{name}")
    for server in SERVERS
    for name, base in overrides(server, "nemo_gym").items()
]


@pytest.mark.parametrize(("server", "base", "name"), OVERRIDDEN)
def test_an_override_fits_the_installed_base(server: type, base: type, name: str) -> None:
    assert misfits(getattr(server, name), getattr(base, name)) == []


def test_what_we_override_is_what_we_mean_to() -> None:
    resources = set(overrides(VibenchResourcesServer, "nemo_gym"))
    agent = set(overrides(VibenchAgent, "nemo_gym"))

    assert resources == {
        "setup_webserver",
        "seed_session",
        "verify",
        "aggregate_metrics",
        "compute_metrics",
        "get_key_metrics",
    }
    assert {"run", "responses", "aggregate_metrics"} <= agent


class Renamed(SimpleResourcesServer):
    async def verify(self, payload: BaseVerifyRequest) -> BaseVerifyResponse:
        raise NotImplementedError


class NoCoroutine(SimpleResourcesServer):
    def verify(self, body: BaseVerifyRequest) -> BaseVerifyResponse:  # type: ignore[override]
        raise NotImplementedError


class OneMore(SimpleResourcesServer):
    async def verify(self, body: BaseVerifyRequest, session: str) -> BaseVerifyResponse:  # type: ignore[override]
        raise NotImplementedError


class OtherTypes(SimpleResourcesServer):
    async def verify(self, body: int) -> str:  # type: ignore[override]
        raise NotImplementedError


class KeywordOnly(SimpleResourcesServer):
    def compute_metrics(self, *, tasks: list[list[dict[str, Any]]]) -> dict[str, Any]:  # type: ignore[override]
        raise NotImplementedError


@pytest.mark.parametrize(
    ("drifted", "problem"),
    [
        (Renamed, "parameter 'body' is not taken"),
        (NoCoroutine, "one is a coroutine, the other is not"),
        (OneMore, "parameter 'session' is not given"),
        (OtherTypes, "parameter 'body' is <class 'int'>"),
        (OtherTypes, "returns <class 'str'>"),
        (KeywordOnly, "parameter 'tasks' is keyword-only"),
    ],
)
def test_a_signature_that_drifted_is_caught(drifted: type, problem: str) -> None:
    found = [
        text
        for name, base in overrides(drifted, "nemo_gym").items()
        for text in misfits(getattr(drifted, name), getattr(base, name))
    ]

    assert any(text.startswith(problem) for text in found), found


def test_a_base_that_drifts_under_us_is_caught() -> None:
    class NextVersion(SimpleResourcesServer):
        async def verify(  # type: ignore[override]
            self, body: BaseVerifyRequest, episode_id: str
        ) -> BaseVerifyResponse:
            raise NotImplementedError

    assert misfits(VibenchResourcesServer.verify, NextVersion.verify) == [
        "parameter 'episode_id' is not taken"
    ]


@pytest.mark.parametrize("server", SERVERS)
def test_servers_stay_out_of_ray(server: type) -> None:
    assert "ray_enabled" in get_type_hints(SimpleServer)
    assert vars(server)["ray_enabled"] is False


def test_reverification_is_declared_where_the_framework_looks() -> None:
    assert hasattr(BaseResourcesServerConfig, "REVERIFY_MODE")
    config = VibenchResourcesServer.model_fields["config"].annotation
    assert config is not None
    assert config.REVERIFY_MODE.value == "unsupported"
    assert "Unsupported, because" in (config.__doc__ or "") or config.__doc__


def test_answers_are_the_frameworks() -> None:
    fields = set(VibenchVerifyResponse.model_fields)

    assert issubclass(VibenchVerifyResponse, BaseMultiRewardVerifyResponse)
    assert {"mask_sample", "failure_kind", "failure_reason"} <= set(BaseVerifyResponse.model_fields)
    assert set(BaseVerifyResponse.model_fields) <= fields
    assert issubclass(VibenchVerifyRequest, BaseVerifyRequest)


def fault_kinds(root: type[errors.GraderFault]) -> set[str]:
    below = (fault_kinds(child) for child in root.__subclasses__())
    return {root.failure_kind}.union(*below)


def test_every_failure_has_a_name_that_gym_groups_by() -> None:
    kinds = fault_kinds(errors.GraderFault)
    kinds |= {s.value for s in ArtifactStatus} | {s.value for s in PlanStatus} | {"not_measured"}
    for kind in kinds:
        named = gym_kind(kind)
        assert named is not None
        assert is_registered(named) or is_namespaced(named)
    assert gym_kind("grader_model_failed") == "judge_failed"
    assert gym_kind("seeding_failed") == "vibench:seeding_failed"
    assert gym_kind(None) is None


def test_the_agent_builds_on_the_public_base_only() -> None:
    modules = {cls.__module__.split(".")[0] for cls in VibenchAgent.__mro__}

    assert issubclass(VibenchAgent, SimpleResponsesAPIAgent)
    assert "responses_api_agents" not in modules
