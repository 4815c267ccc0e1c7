# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The resources server over a grader with nothing real beneath it: HTTP, disk and rows are real.

Needs nemo-gym.
"""

from __future__ import annotations

import asyncio
import contextlib
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf

from support.grading import (
    FakeBrowsers,
    FakeModels,
    agent,
    make_app,
    make_plan,
    passing,
)
from vibench_gym.core.artifact import ArtifactStore
from vibench_gym.core.config import ArchiveBudget, GraderConfig
from vibench_gym.grading.queued_grader import QueuedGrader
from vibench_gym.gym.server.config import VibenchResourcesServerConfig
from vibench_gym.gym.server.host_limiter import HostLimiter
from vibench_gym.gym.server.resources_server import VibenchResourcesServer
from vibench_gym.testing.fakes.stack import FakeStackBuilder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from vibench_gym.core.tasks.plan import TestPlan
    from vibench_gym.core.tasks.task import Task
    from vibench_gym.grading.base import RolloutGrader
    from vibench_gym.grading.context import ModelSource
    from vibench_gym.llm.base import ChatModel

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "created_at": 0,
    "model": "policy",
    "object": "response",
    "output": [],
    "parallel_tool_calls": False,
    "tool_choice": "auto",
    "tools": [],
}


def make_root(root: Path, app: str = "shop", plans: int = 2) -> Path:
    """A ViBench root with one app, with assets for the builder and for the QA agent."""
    folder = root / "prds" / app
    for part in ("prd", "tests/mvp", "assets", "test_assets"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "prd/mvp.txt").write_text("Build a shop.", encoding="utf-8")
    (folder / "assets/logo.svg").write_text("<svg/>", encoding="utf-8")
    (folder / "test_assets/secret.txt").write_text("for the QA agent", encoding="utf-8")
    for number in range(1, plans + 1):
        text = make_plan(f"test{number}").text
        (folder / f"tests/mvp/test{number}.txt").write_text(text, encoding="utf-8")
    return root


def make_row(app: str = "shop", plans: int = 2, **more: Any) -> dict[str, Any]:
    """A row over `make_root`."""
    top = f"prds/{app}"
    return {
        "app": app,
        "artifact": "mvp",
        "prd_files": [f"{top}/prd/mvp.txt"],
        "test_plans": [f"{top}/tests/mvp/test{n}.txt" for n in range(1, plans + 1)],
        "asset_dirs": [f"{top}/assets"],
        "test_assets_dir": f"{top}/test_assets",
        "responses_create_params": {"input": [{"role": "user", "content": "Build it."}]},
        **more,
    }


def make_verify_body(digest: str | None, **more: Any) -> dict[str, Any]:
    """A `/verify` request for a row over `make_root`."""
    return {**make_row(), "response": RESPONSE, "artifact_sha256": digest, **more}


def pack(folder: Path, archive: Path) -> Path:
    """A folder as a plain archive."""
    with tarfile.open(archive, "w") as tar:
        tar.add(folder, ".")
    return archive


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true; the test's own time limit ends it."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event to offer
        await asyncio.sleep(0.02)


def server_client(blocks: Mapping[str, Any] | None = None) -> ServerClient:
    """A client over a global config of these blocks; there is no head server."""
    head = BaseServerConfig(host="127.0.0.1", port=1)
    return ServerClient(
        head_server_config=head, global_config_dict=OmegaConf.create(dict(blocks or {}))
    )


@dataclass
class GymLab:
    """One resources server, what it is given, and what it did."""

    root: Path
    stacks: FakeStackBuilder = field(default_factory=FakeStackBuilder)
    qa: Callable[[TestPlan], ChatModel] = field(default=lambda plan: agent(passing(plan)))
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Gradings wait for it once they have begun; set unless a test clears it."""
    begun: int = 0
    cleaned: int = 0

    def __post_init__(self) -> None:
        self.gate.set()
        make_root(self.root / "vibench")
        self.store = ArtifactStore(self.root / "artifacts")
        self.store.root.mkdir(mode=0o700)

    def config(self, **settings: Any) -> VibenchResourcesServerConfig:
        """The server's settings over this lab's folders."""
        defaults: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": 1,
            "entrypoint": "app.py",
            "name": "vibench_resources_server",
            "vibench_repo_root": str(self.root / "vibench"),
            "artifact_dir": str(self.store.root),
            "results_dir": str(self.root / "results"),
            "replay": True,
        }
        return VibenchResourcesServerConfig.model_validate({**defaults, **settings})

    def server(self, **settings: Any) -> VibenchResourcesServer:
        """A server that grades with this lab's fakes."""
        lab = self

        class FakeGradedServer(VibenchResourcesServer):
            def make_grader(self) -> RolloutGrader:
                return lab.grader()

        return FakeGradedServer(config=self.config(**settings), server_client=server_client())

    def grader(self) -> QueuedGrader:
        """A grader over this lab's fakes."""
        return QueuedGrader(
            models=self._models,
            stacks=self.stacks,
            limiter=HostLimiter(self.root / "locks/slots", 2),
            config=GraderConfig(second_look_wait_s=0.0),
            archive=ArchiveBudget(),
            browsers=FakeBrowsers(),
        )

    def stored_app(self, text: str = "an app") -> str:
        """The digest of an app that can be built."""
        app = make_app(self.root / "app")
        (app / "readme.txt").write_text(text, encoding="utf-8")
        return self.store.put(pack(app, self.root / "app.tar"))

    def stored_empty_app(self) -> str:
        """The digest of an app without scripts."""
        empty = self.root / "empty"
        empty.mkdir(exist_ok=True)
        return self.store.put(pack(empty, self.root / "empty.tar"))

    @contextlib.asynccontextmanager
    async def _models(self, task: Task) -> AsyncIterator[ModelSource]:
        del task
        self.begun += 1
        try:
            await self.gate.wait()
            yield FakeModels(qa=self.qa)
        finally:
            self.cleaned += 1
