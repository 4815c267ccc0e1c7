# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One build: a box, a harness in it, the app out of it, and whose fault it is when there is none.

Masking must not be a builder's to cause. So a failed harness is scored with what it built, unless
something on our side says that it could not have done better: no model call was ever answered, or
the model does not answer us either. A box that went away is ours only where a fresh one cannot be
had, or where no model had spoken in it yet.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
from nemo_gym.sandbox.providers.base import SandboxCreateError

from vibench_gym.core.errors import ArtifactRejected
from vibench_gym.gym.agent.harnesses.base import HarnessTask, Transcript
from vibench_gym.gym.box.build_box import BuildBox, HarnessEnd
from vibench_gym.gym.box.harvest import HarvestFailed
from vibench_gym.gym.wire import HarnessStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nemo_gym.sandbox import SandboxSpec
    from nemo_gym.sandbox.providers.base import SandboxProvider

    from vibench_gym.core.artifact import ArtifactStore
    from vibench_gym.gym.agent.harnesses.base import Harness
    from vibench_gym.gym.agent.model_control import ModelControl
    from vibench_gym.gym.box.harvest import Harvest

_LOGGER = logging.getLogger(__name__)
CLOSE_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """What to build, and with which model."""

    prompt: str
    base_url: str
    """The model's, as the box sees it."""
    control: ModelControl
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Path in the box, content: the brief's files."""
    tree: Path | None = None
    """An archive of the store that is unpacked before the files are placed."""
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """What a build came to."""

    status: HarnessStatus
    detail: str = ""
    artifact_sha256: str | None = None
    transcript: Transcript = field(default_factory=Transcript)
    sessions: tuple[str, ...] = ()
    """The harness's conversations, by the calls that our relay saw."""
    model_calls: int = 0
    return_code: int | None = None
    provider: str = ""
    sandbox_id: str | None = None
    errors: str = ""
    """The end of the harness's standard error."""
    harness_s: float = 0.0
    harvest_s: float = 0.0
    box_s: float = 0.0
    harvest: Harvest | None = None


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds apps with one harness in one provider's boxes."""

    provider: SandboxProvider
    harness: Harness
    store: ArtifactStore
    workdir: str
    time_limit_s: float
    harvest_timeout_s: float
    executable: str | None = None
    """The harness's program in the box; None: it is copied there."""
    scratch_root: str = "/tmp"  # noqa: S108 (in the box)

    async def build(self, order: BuildOrder, spec: SandboxSpec) -> Build:
        """One build from nothing to a stored app. Never raises for what a build can come to.

        The box is gone when this returns, is cancelled or fails.

        Raises:
            OSError: our own disk failed.
        """
        started = time.monotonic()
        box = BuildBox(self.provider, spec, workdir=self.workdir, scratch_root=self.scratch_root)
        try:
            build = await self._in_box(box, order, spec)
        finally:
            await close_box(box)
        return replace(
            build,
            provider=box.provider_name,
            sandbox_id=box.sandbox_id,
            box_s=time.monotonic() - started,
        )

    async def _in_box(self, box: BuildBox, order: BuildOrder, spec: SandboxSpec) -> Build:
        try:
            await box.open()
            if order.tree is not None:
                await box.load(order.tree)
            await box.stage(order.files)
            executable = self.executable or await self._copy_program(box)
        except SandboxCreateError as error:
            return Build(HarnessStatus.BOX_FAILED, str(error))
        except Exception as error:  # any provider's failure, before any builder was there
            _LOGGER.exception("the build box could not be made ready")
            return Build(HarnessStatus.BOX_FAILED, f"the box could not be made ready: {error}")
        task = HarnessTask(
            order.prompt, order.base_url, box.scratch, order.temperature, order.top_p
        )
        end, unreachable = await self._work(box, task, executable, order.control)
        # Away from the loop, which carries other builds' model calls.
        transcript = await asyncio.to_thread(self.harness.read, end.output)
        traffic = box.traffic
        answered = transcript.model_calls if traffic is None else traffic.answered
        status, detail = await self._judge(end, transcript, box, order.control, unreachable)
        build = Build(
            status,
            detail,
            transcript=transcript,
            sessions=() if traffic is None else tuple(traffic.sessions),
            model_calls=answered,
            return_code=end.return_code,
            errors=end.errors,
            harness_s=end.duration_s,
        )
        return await self._bring_out(box, build, spec)

    async def _copy_program(self, box: BuildBox) -> str:
        program = self.harness.program
        if program is None:
            return self.harness.name
        return await box.upload_program(program.folder / program.executable)

    async def _work(
        self, box: BuildBox, task: HarnessTask, executable: str, control: ModelControl
    ) -> tuple[HarnessEnd, str]:
        """Let the harness work; ended early where the model is gone for good, with the reason."""
        started = time.monotonic()
        working = asyncio.create_task(
            box.run(self.harness, task, executable, limit_s=self.time_limit_s)
        )
        watching = asyncio.create_task(control.watch(lambda: box.traffic))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result(), ""
            reason = watching.result()
        finally:
            working.cancel()
            watching.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({working, watching}, timeout=CLOSE_TIMEOUT_S)
        spent = time.monotonic() - started
        output = await box.spoken()
        return HarnessEnd(
            -1, timed_out=False, box_failed=False, duration_s=spent, output=output
        ), reason

    async def _judge(
        self,
        end: HarnessEnd,
        transcript: Transcript,
        box: BuildBox,
        control: ModelControl,
        unreachable: str,
    ) -> tuple[HarnessStatus, str]:
        """Whose fault it is, by what our side saw."""
        traffic = box.traffic
        said = "; ".join((*transcript.errors[-1:], end.errors.strip()[-500:])).strip("; ")
        answered = transcript.model_calls if traffic is None else traffic.answered
        tried = answered if traffic is None else traffic.requests
        if unreachable:
            return HarnessStatus.UNREACHABLE_MODEL, unreachable
        if answered == 0 and end.box_failed:
            return HarnessStatus.BOX_FAILED, "the box went away before any model call"
        if answered == 0:
            if tried > 0 and traffic is not None:
                why = traffic.last_failure or f"{tried} calls, and no answer to any"
                return HarnessStatus.UNREACHABLE_MODEL, why
            if traffic is None and transcript.errors:
                return HarnessStatus.UNREACHABLE_MODEL, transcript.errors[-1]
            ended = "ran out of time" if end.timed_out else f"ended with {end.return_code}"
            return HarnessStatus.NO_MODEL_CALL, f"it {ended} before any model call. {said}"
        return await self._judge_end(end, transcript, said, control)

    async def _judge_end(
        self, end: HarnessEnd, transcript: Transcript, said: str, control: ModelControl
    ) -> tuple[HarnessStatus, str]:
        """Of a harness to which the model has spoken."""
        clean = transcript.finished or not transcript.errors
        if end.return_code == 0 and not end.timed_out and clean:
            return HarnessStatus.OK, ""
        # It ended badly after the model had spoken: by its own doing, unless the model is gone.
        fault = await control.fault()
        if fault:
            return HarnessStatus.UNREACHABLE_MODEL, fault
        if end.timed_out:
            return HarnessStatus.TIMEOUT, f"stopped after {end.duration_s:.0f} s"
        return HarnessStatus.HARNESS_FAILED, f"ended with {end.return_code}. {said}"

    async def _bring_out(self, box: BuildBox, build: Build, spec: SandboxSpec) -> Build:
        """Harvest what there is, also of a build that will be masked."""
        started = time.monotonic()
        try:
            found = await box.harvest(self.store, timeout_s=self.harvest_timeout_s)
        except ArtifactRejected as error:
            # Too large to be an app: what the builder made, not what we failed at.
            spent = time.monotonic() - started
            return replace(build, detail=_joined(build.detail, str(error)), harvest_s=spent)
        except HarvestFailed as error:
            spent = time.monotonic() - started
            status = build.status
            if status.measured and (error.ours or not await self._box_works(spec)):
                status = HarnessStatus.HARVEST_FAILED
            detail = _joined(build.detail, str(error))
            return replace(build, status=status, detail=detail, harvest_s=spent)
        return replace(
            build,
            artifact_sha256=found.sha256,
            harvest=found,
            harvest_s=time.monotonic() - started,
        )

    async def _box_works(self, spec: SandboxSpec) -> bool:
        """Control experiment: whether a fresh box of the provider can be had and gives files."""
        box = BuildBox(self.provider, spec, workdir=self.workdir, scratch_root=self.scratch_root)
        try:
            await box.open()
            await box.stage({f"{self.workdir}/prd.txt": b"control"})
            await box.harvest(self.store, timeout_s=self.harvest_timeout_s)
        except Exception:  # noqa: BLE001 (any failure says the same)
            return False
        finally:
            await close_box(box)
        return True


async def close_box(box: BuildBox) -> None:
    """End a box although we are cancelled; what a provider fails to end is logged."""
    with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True) as scope:
        try:
            await box.close()
        except Exception:
            _LOGGER.exception("the build box %s could not be closed", box.sandbox_id)
    if scope.cancelled_caught:
        _LOGGER.error("the build box %s did not close in time", box.sandbox_id)


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)
