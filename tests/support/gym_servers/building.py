# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A harness that is a shell script, and a Gym that writes down what it is asked.

For tests of the builder's side: boxes, providers and servers are real, only the coding harness is
as short as a script. It speaks OpenCode's events, so that one reader serves both. Needs nemo-gym.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import ServerClient
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, PrivateAttr

from vibench_gym.gym.agent.config import VibenchAgentConfig
from vibench_gym.gym.agent.harnesses.base import BoxHarness, Harness
from vibench_gym.gym.agent.harnesses.opencode.events import read_events
from vibench_gym.gym.agent.server import VibenchAgent
from vibench_gym.gym.box.build_box import BoxCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from vibench_gym.gym.agent.build import BuildResult
    from vibench_gym.gym.agent.harnesses.base import HarnessTask, Program, Transcript

    BuildWith = Callable[..., Coroutine[Any, Any, BuildResult]]

MODEL_SERVER = "policy_model"
RESOURCES_SERVER = "vibench_resources_server"
AGENT_SERVER = "vibench_opencode_agent"
SESSION = "ses_1"
CALL = (
    'curl -sS -m 20 -o /dev/null -H "x-session-id: ses_1" -H "content-type: application/json"'
    ' -d \'{"model": "policy", "messages": [{"role": "user", "content": "hi"}]}\''
    ' "$BASE_URL/chat/completions"'
)
"""Calls the model once, as a harness does."""


def event(kind: str, **part: Any) -> str:
    """A line of the shell that prints one of OpenCode's events."""
    line = json.dumps({"type": kind, "sessionID": SESSION, "part": {"type": kind, **part}})
    return f"printf '%s\\n' '{line}'"


STEP = "\n".join(
    (
        event("step_start", messageID="msg_1", id="p1"),
        event("text", messageID="msg_1", id="p2", text="I build it."),
        event("step_finish", messageID="msg_1", id="p3", reason="stop", tokens={"input": 7}),
    )
)
"""What a harness says that called the model once and is content."""


class ShellSettings(BaseModel):
    """Settings of the shell harness."""

    script: str


@dataclass(frozen=True, slots=True)
class ShellHarness(BoxHarness):
    """Runs a script with `BASE_URL` set and the prompt on standard input.

    `PICTURES` is set to something where the model takes them.
    """

    name: ClassVar[str] = "shell"
    settings_model: ClassVar[type[BaseModel]] = ShellSettings

    script: str
    checked: list[str] = field(default_factory=list)

    @classmethod
    def from_settings(cls, settings: ShellSettings) -> Self:
        """The script of the settings."""
        return cls(settings.script)

    @property
    def program(self) -> Program | None:
        """None: every box has a shell."""
        return None

    @property
    def image_executable(self) -> str:
        """The shell."""
        return "bash"

    def check(self) -> None:
        """Note that it was asked."""
        self.checked.append("asked")

    def command(self, task: HarnessTask, executable: str) -> BoxCommand:
        """The script."""
        env = {"BASE_URL": task.base_url, "PICTURES": "yes" if task.pictures else ""}
        return BoxCommand(argv=(executable, "-c", self.script), env=env, stdin=task.prompt)

    def read(self, output: bytes) -> Transcript:
        """OpenCode's events."""
        return read_events(output)


def agent_config(artifacts: Path, **settings: Any) -> VibenchAgentConfig:
    """An agent server's settings, with a store of its own.

    Raises:
        ValidationError: no such settings.
    """
    fixed: dict[str, Any] = {
        "name": AGENT_SERVER,
        "host": "127.0.0.1",
        "port": 1,
        "entrypoint": "app.py",
        "resources_server": {"type": "resources_servers", "name": RESOURCES_SERVER},
        "model_server": {"type": "responses_api_models", "name": MODEL_SERVER},
        "artifact_dir": str(artifacts),
    }
    return VibenchAgentConfig.model_validate({**fixed, **settings})


def agent_with(harness: Harness, config: VibenchAgentConfig, client: ServerClient) -> VibenchAgent:
    """An agent server whose builder is this harness, whatever its settings name."""

    class AgentWithHarness(VibenchAgent):
        def make_harness(self) -> Harness:
            return harness

    return AgentWithHarness(config=config, server_client=client)


class Answer:
    """What an aiohttp response is to our agent."""

    ok = True

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = json.dumps(body).encode()
        self.cookies: dict[str, Any] = {}

    async def read(self) -> bytes:
        """The body."""
        return self._body


class RecordingGym(ServerClient):
    """A server client whose servers answer as they are told, and which keeps what they were asked.

    The model server's address is a real one, for harnesses call it.
    """

    answers: dict[str, Any]
    """By path; `/verify` gives what it was sent, with a reward, where it has none."""
    _asked: list[tuple[str, str, dict[str, Any]]] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Server, path and body of each request."""
        return self._asked

    def body(self, path: str) -> dict[str, Any]:
        """The last body that was sent to a path."""
        return next(body for _, asked, body in reversed(self._asked) if asked == path)

    async def post(self, server_name: str, url_path: str, **kwargs: Any) -> Any:
        """Answer from `answers`."""
        body = kwargs.get("json")
        sent = body if isinstance(body, dict) else body.model_dump() if body is not None else {}
        self._asked.append((server_name, url_path, json.loads(json.dumps(sent, default=str))))
        given = self.answers.get(url_path)
        if given is None:
            given = {**self._asked[-1][2], "reward": 1.0, **_MEASURED}
        return Answer(given)


_MEASURED: dict[str, Any] = {
    "reward_components": {},
    "build_failed": False,
    "seeding_failure_rate": 0.0,
    "test_plans_graded": 0,
    "test_plans_total": 0,
    "steps_total": 0,
    "steps_passed": 0,
    "results": [],
}


def recording_gym(model_port: int, **blocks: Any) -> RecordingGym:
    """A Gym whose model server is on that port of loopback; `blocks` are of its configuration."""
    model = {"host": "127.0.0.1", "port": model_port, "entrypoint": "app.py"}
    config: DictConfig = OmegaConf.create(
        {MODEL_SERVER: {"responses_api_models": {"openai_model": model}}, **blocks}
    )
    return RecordingGym(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1),
        global_config_dict=config,
        answers={"/seed_session": {"prd_text": "Build a shop."}},
    )
