# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The app's server process: started through bash, awaited until it serves, explained when not.

Whatever it does (ends, hangs, answers rubbish, takes another port) becomes an `AppStartFailed`
whose message says what was seen, so that a zero can be understood without running anything again.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol

from vibench_gym.core.errors import AppStartFailed
from vibench_gym.stack import postgres
from vibench_gym.stack.base import AppStatus
from vibench_gym.stack.local.boxes import START_SCRIPT
from vibench_gym.stack.readiness import Probe, probe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vibench_gym.core.config import StackConfig
    from vibench_gym.sandbox.zone.zone import Box, Zone
    from vibench_gym.stack.local.boxes import AppBoxes
    from vibench_gym.stack.readiness import Connect

STOP_GRACE_S = 3.0
TAIL_CHARS = 2000
_FIRST_POLL_S = 0.02
_LAST_POLL_S = 0.25


class AppProcess(Protocol):
    """A started script with all that it started; a zone's `Box` is one."""

    @property
    def returncode(self) -> int | None:
        """Exit code (128 + signal), None while it runs."""
        ...

    @property
    def killed(self) -> bool:
        """Whether it was ended for using more than it may."""
        ...

    @property
    def killed_unasked(self) -> bool:
        """Whether SIGKILL ended it that neither we nor a limit nor anything of the app's sent.

        False, too, where nothing tells.
        """
        ...

    async def wait(self, timeout_s: float | None = None) -> int:
        """Wait for its end; TimeoutError if that takes longer."""
        ...

    async def terminate(self, grace_s: float = 3.0) -> int:
        """End it and all that it started."""
        ...

    async def output_tail(self, limit: int = 4000) -> str:
        """Its last words."""
        ...


class AppHost(Protocol):
    """Where an app's server runs: its own network, its own files."""

    @property
    def connect(self) -> Connect:
        """Opens connections to the app."""
        ...

    async def launch(
        self, script: str, env: Mapping[str, str], log_path: Path | None
    ) -> AppProcess:
        """Start a script of the app's through bash, in `/app`."""
        ...

    async def listening_ports(self) -> tuple[int, ...]:
        """Ports on which something listens, the database's too."""
        ...

    async def has_crlf(self, script: str) -> bool:
        """Whether the script has CRLF line endings."""
        ...


class ZoneAppHost:
    """The ground of the local stack: boxes in a zone."""

    def __init__(self, zone: Zone, boxes: AppBoxes) -> None:
        self._zone = zone
        self._boxes = boxes

    @property
    def connect(self) -> Connect:
        """Opens connections inside the zone."""
        return self._zone.connect

    async def launch(self, script: str, env: Mapping[str, str], log_path: Path | None) -> Box:
        """Start a script in a box of its own."""
        return await self._zone.spawn(
            self._boxes.app("/usr/bin/bash", script, env=env, log_path=log_path)
        )

    async def listening_ports(self) -> tuple[int, ...]:
        """Ports of the zone on which something listens."""
        return await self._zone.listening_ports()

    async def has_crlf(self, script: str) -> bool:
        """Whether the script has CRLF line endings."""
        spec = self._boxes.app("/usr/bin/grep", "-q", "-m1", "-U", "\r$", script)
        return (await self._zone.run(spec, timeout_s=5)).return_code == 0


class AppServer:
    """Starts, watches and stops `start-server.sh` on its ground."""

    def __init__(self, ground: AppHost, config: StackConfig, log_path: Path | None) -> None:
        self._ground = ground
        self._config = config
        self._log_path = log_path
        self._box: AppProcess | None = None
        self.env: dict[str, str] = {}
        """What seeds added to the app's environment."""

    async def start(self) -> Probe:
        """Start the server and wait for a document.

        Raises:
            AppStartFailed: it did not serve one in time.
        """
        self._box = box = await self._ground.launch(START_SCRIPT, self.env, self._log_path)
        exited = asyncio.create_task(box.wait())
        try:
            return await self._document(box, exited)
        finally:
            exited.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await exited

    @property
    def external_kill(self) -> str | None:
        """Whether its box was killed by somebody outside of it."""
        unasked = self._box is not None and self._box.killed_unasked
        return "the app's box was killed from outside" if unasked else None

    async def stop(self) -> None:
        """End the server and all that it started."""
        if self._box is not None:
            await self._box.terminate(grace_s=STOP_GRACE_S)

    async def restart(self, env: Mapping[str, str]) -> Probe:
        """Start it anew with more environment.

        Raises:
            AppStartFailed: as `start`.
        """
        await self.stop()
        self.env.update(env)
        return await self.start()

    async def status(self) -> AppStatus:
        """What the process is doing now."""
        box = self._box
        if box is None:
            return AppStatus(running=False, exit_code=None, log_tail="", listening_ports=())
        return AppStatus(
            running=box.returncode is None,
            exit_code=box.returncode,
            log_tail=await box.output_tail(TAIL_CHARS),
            listening_ports=await self._ports(),
        )

    async def _document(self, box: AppProcess, exited: asyncio.Task[int]) -> Probe:
        config = self._config
        last = Probe(ready=False, detail="was never asked")
        pause = _FIRST_POLL_S
        try:
            async with asyncio.timeout(config.start_timeout_s):
                while True:
                    look = await self._look_unless_exited(exited)
                    if look is None:
                        raise await self._ended(box, exited.result())
                    if look.ready:
                        return look
                    last = look
                    await asyncio.wait({exited}, timeout=pause)
                    pause = min(pause * 1.5, _LAST_POLL_S)
        except TimeoutError:
            raise await self._silent(box, last) from None

    async def _look_unless_exited(self, exited: asyncio.Task[int]) -> Probe | None:
        config = self._config
        look = asyncio.create_task(
            probe(
                self._ground.connect,
                config.port,
                timeout_s=config.probe_timeout_s,
                max_redirects=config.max_redirects,
            )
        )
        try:
            await asyncio.wait({look, exited}, return_when=asyncio.FIRST_COMPLETED)
            return None if exited.done() else await look
        finally:
            look.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await look

    async def _ended(self, box: AppProcess, code: int) -> AppStartFailed:
        text = f"{START_SCRIPT} ended with exit code {code} before the app served a document"
        if code == 0:
            text += "; it has to stay in the foreground"
        if box.killed:
            text += "; it was killed for using more than it may"
        return await self._failure(box, text)

    async def _silent(self, box: AppProcess, last: Probe) -> AppStartFailed:
        config = self._config
        text = (
            f"no document at http://localhost:{config.port}/ within {config.start_timeout_s:g} s:"
            f" the app {last.detail}"
        )
        return await self._failure(box, text)

    async def _failure(self, box: AppProcess, text: str) -> AppStartFailed:
        ports = await self._ports()
        if box.returncode is None and self._config.port not in ports:
            others = ", ".join(map(str, ports))
            text += f"; it listens on port {others} instead" if ports else "; it listens nowhere"
        if await self._ground.has_crlf(START_SCRIPT):
            text += f"; {START_SCRIPT} has CRLF line endings, which bash takes as part of commands"
        await self.stop()
        tail = (await box.output_tail(TAIL_CHARS)).strip()
        return AppStartFailed(f"{text}. Last output: {tail or '(none)'}")

    async def _ports(self) -> tuple[int, ...]:
        return tuple(p for p in await self._ground.listening_ports() if p != postgres.PORT)
