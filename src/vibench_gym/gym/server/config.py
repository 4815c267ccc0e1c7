# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the resources server; keys of NeMo Gym's own ViBench environment mean the same here.

Agent and resources server share one key, `artifact_dir`: the store of built apps.
"""

from __future__ import annotations

from typing import ClassVar

from nemo_gym.base_resources_server import BaseResourcesServerConfig, ReverifyMode
from pydantic import Field

from vibench_gym.core.config import (
    ArchiveBudget,
    BrowserConfig,
    GraderConfig,
    GraderName,
    StackConfig,
)

_ANY_MODEL = "grader"
_VIBENCH_MODEL = "Sonnet_4.5"


class VibenchResourcesServerConfig(BaseResourcesServerConfig):
    """What a config's `resources_servers: vibench:` block may hold besides NeMo Gym's own keys."""

    REVERIFY_MODE: ClassVar[ReverifyMode] = ReverifyMode.UNSUPPORTED
    """Unsupported, because a stored row is not what was graded.

    Grading stands the built app up again, and the app is in the artifact store under a digest that
    NeMo Gym does not carry into a re-verification. Nor is it a pure function of the row: models
    look at a running app. `vibench-gym rescore` repeats what is pure, the score, from the run
    directory; `vibench-gym grade` grades an artifact of the store again.
    """

    vibench_repo_root: str | None = None
    """A ViBench checkout (`prds/` in it); the bundled tasks are found without one."""
    artifact_dir: str
    """Store of built apps by digest, the agent's `artifact_dir` too; an absolute path."""
    results_dir: str | None = None
    """Run directories, one per server name; `vibench-results` beside the store if None."""

    grader: GraderName = "builtin"
    """Ours, or ViBench's own on Docker, from the checkout; that one takes its models and keys from
    the checkout's `env_creator`, and of the settings below `grader_model_name` (a model preset) and
    `vibench_env_file` (all of it)."""
    vibench_python: str | None = None
    """Interpreter of the checkout's scripts; the checkout's own `.venv` if None, else ours."""

    grader_model_server: str | None = None
    """Name of a `responses_api_models` server that plays seeder and QA agent ..."""
    grader_base_url: str | None = None
    """... or an OpenAI-compatible endpoint ..."""
    replay: bool = False
    """... or the scripts that tasks ship (the bundled ones do): no model at all."""
    grader_model_name: str = _ANY_MODEL
    seeder_model_name: str | None = None
    """The QA agent's if None."""
    grader_api_key_env: str = "VIBENCH_GYM_API_KEY"
    """Environment variable that holds the endpoint's key; not needed on loopback."""
    vibench_env_file: str | None = None
    """File of `KEY=VALUE` lines where that variable is looked for if it is not set."""

    app_key_env: str | None = None
    """Environment variable with a key, of its own, for the model that some apps call while they are
    used; without it the artifacts of such apps are skipped."""
    app_model_base_url: str | None = None
    """Where that model is; OpenAI's own API if None."""

    grading_concurrency: int | None = Field(default=None, gt=0)
    """Plans (and set-ups) graded at once on this host; `max_concurrent_test_plans` if None."""
    max_concurrent_test_plans: int = Field(default=2, gt=0)
    grading_slots_dir: str | None = None
    """Processes that name the same folder share the host's slots; one per user if None."""
    evaluation_timeout_s: float | None = Field(default=None, gt=0)
    """Model time of one plan, after which it masks; `grading.model_time_per_plan_s` if None."""
    cleanup_grace_s: float = Field(default=120.0, gt=0)
    keep_evaluation_artifacts: bool = True
    """False: browser traces and downloads are removed once a rollout is graded."""
    max_asset_bytes: int = Field(default=64 * 1024 * 1024, gt=0)

    stack: StackConfig = StackConfig()
    grading: GraderConfig = GraderConfig()
    browser: BrowserConfig = BrowserConfig()
    archive: ArchiveBudget = ArchiveBudget()

    @property
    def slots(self) -> int:
        """Plans graded at once on this host."""
        return self.grading_concurrency or self.max_concurrent_test_plans

    @property
    def vibench_model(self) -> str:
        """The preset of ViBench's graders; its own default where none is named."""
        named = self.grader_model_name
        return _VIBENCH_MODEL if named == _ANY_MODEL else named

    @property
    def grader_config(self) -> GraderConfig:
        """Budgets of seeding and QA."""
        if self.evaluation_timeout_s is None:
            return self.grading
        return self.grading.model_copy(update={"model_time_per_plan_s": self.evaluation_timeout_s})
