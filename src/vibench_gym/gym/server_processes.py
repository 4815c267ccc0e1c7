# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Our servers and a model server, started as NeMo Gym starts them, without its CLI and without Ray.

`gym env start` reads configurations, starts a Ray cluster (which none of these servers uses) and
then runs `python app.py` in each server's folder, with the whole configuration in the environment.
This is that last part: ready in seconds, for the demo and for tests. Servers end with their owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import nemo_gym
from omegaconf import OmegaConf

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.core.loopback import without_proxy
from vibench_gym.gym.install_paths import AGENT, MODEL_SERVER, RESOURCES_SERVER, gym_root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

RESOURCES_NAME = "vibench_resources_server"
AGENT_NAME = "vibench_opencode_agent"
MODEL_NAME = "policy_model"
START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 20.0
_POLL_S = 0.1
_LOG_TAIL = 2000
# The kernel ends a server whose owner is gone, however that went; Linux, PR_SET_PDEATHSIG.
_TIED = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15);"
    "os.getppid() == int(sys.argv[1]) or sys.exit(1); os.execv(sys.argv[2], sys.argv[2:])"
)


@dataclass
class GymServers:
    """Resources server, agent and model server, as an async context manager."""

    folder: Path
    """For logs, and for the store and the run directory where the settings name no other."""
    model_url: str
    """The policy's endpoint, OpenAI-compatible, with `/v1`."""
    model_name: str = "policy"
    model_key: str = "none"
    resources: Mapping[str, Any] = field(default_factory=dict)
    """Settings over those of `configs/vibench.yaml`."""
    agent: Mapping[str, Any] = field(default_factory=dict)
    further: Mapping[str, Any] = field(default_factory=dict)
    """Settings at the top."""

    async def __aenter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ports = {name: _free_port() for name in (MODEL_NAME, RESOURCES_NAME, AGENT_NAME)}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self._text = OmegaConf.to_yaml(OmegaConf.create(self._config()))
        try:
            for name in self.ports:
                await self.start(name)
            async with asyncio.timeout(START_TIMEOUT_S):
                for name in self.ports:
                    await self.ready(name)
        except TimeoutError:
            await self._stop_all()
            raise PrerequisiteMissing(
                f"the servers were not ready after {START_TIMEOUT_S:.0f} s; logs in {self.folder}",
                "vibench-gym doctor",
            ) from None
        except BaseException:
            await self._stop_all()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.shield(self._stop_all())

    def url(self, name: str = AGENT_NAME) -> str:
        """Where a server answers."""
        return f"http://127.0.0.1:{self.ports[name]}"

    async def run(self, row: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """One rollout, whole.

        Raises:
            httpx.HTTPError: the agent did not answer, or not with success.
        """
        async with httpx.AsyncClient(timeout=timeout_s, trust_env=False) as client:
            answer = await client.post(f"{self.url()}/run", json=dict(row))
        answer.raise_for_status()
        given: dict[str, Any] = answer.json()
        return given

    async def start(self, name: str) -> None:
        """Start one of the servers, the first time or again."""
        log = (self.folder / f"{name}.log").open("ab")
        try:
            self.processes[name] = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-c", _TIED, str(os.getpid()), sys.executable, "app.py"),
                cwd=self._server_dir(name),
                env={
                    **without_proxy(os.environ),
                    "NEMO_GYM_CONFIG_DICT": self._text,
                    "NEMO_GYM_CONFIG_PATH": name,
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            log.close()

    async def ready(self, name: str) -> None:
        """Wait until a server answers; the caller bounds it.

        Raises:
            PrerequisiteMissing: it ended instead; with what it said.
        """
        async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
            while True:
                if self.processes[name].returncode is not None:
                    path = self.folder / f"{name}.log"
                    said = path.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL:]
                    raise PrerequisiteMissing(
                        f"{name} did not start:\n{said.strip()}", "vibench-gym doctor"
                    )
                with contextlib.suppress(httpx.TransportError):
                    await client.get(f"{self.url(name)}/livez")
                    return
                await asyncio.sleep(_POLL_S)

    async def stop(self, name: str, how: signal.Signals = signal.SIGINT) -> None:
        """End one server; killed where it takes too long."""
        process = self.processes[name]
        if process.returncode is None:
            process.send_signal(how)
            try:
                await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
            except TimeoutError:
                process.kill()
                await process.wait()

    async def _stop_all(self) -> None:
        await asyncio.gather(*(self.stop(name) for name in self.processes))

    def _server_dir(self, name: str) -> Path:
        if name == MODEL_NAME:
            return Path(nemo_gym.__file__).resolve().parent.parent / MODEL_SERVER
        return gym_root() / (AGENT if name == AGENT_NAME else RESOURCES_SERVER)

    def _config(self) -> dict[str, Any]:
        """The configuration as the CLI would resolve it."""
        shipped = OmegaConf.load(gym_root() / RESOURCES_SERVER / "configs" / "vibench.yaml")
        blocks: Any = OmegaConf.to_container(shipped, resolve=True)
        resources = blocks[RESOURCES_NAME]["resources_servers"]["vibench"]
        agent = blocks[AGENT_NAME]["responses_api_agents"]["vibench_agent"]
        folders = {"artifact_dir": str(self.folder / "artifacts")}
        resources |= {**folders, "results_dir": str(self.folder), **self.resources}
        agent |= {**folders, **self.agent}
        agent.pop("datasets", None)
        model = {
            "entrypoint": "app.py",
            "openai_base_url": self.model_url,
            "openai_api_key": self.model_key,
            "openai_model": self.model_name,
        }
        for name, block in ((RESOURCES_NAME, resources), (AGENT_NAME, agent), (MODEL_NAME, model)):
            block |= {"host": "127.0.0.1", "port": self.ports[name]}
        return {
            RESOURCES_NAME: {"resources_servers": {"vibench": resources}},
            AGENT_NAME: {"responses_api_agents": {"vibench_agent": agent}},
            MODEL_NAME: {"responses_api_models": {"openai_model": model}},
            # Nobody asks it: servers read the whole configuration from their environment.
            "head_server": {"host": "127.0.0.1", "port": 1},
            "dry_run": False,
            **self.further,
        }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
