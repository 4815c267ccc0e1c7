# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A Browser without Chromium: gives scripted observations, records what it was asked.

Answers are used up one per `call` or `observe`; when none is left, `otherwise` answers.
`otherwise=None` makes an unexpected call an `AssertionError`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vibench_gym.browser.base import Observation
from vibench_gym.browser.tools.registry import BROWSER_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from vibench_gym.core.tool import ToolSpec

OBSERVE = "observe"
"""The tool name under which `observe()` is recorded and answered."""

type Answer = (
    str
    | Observation
    | Exception
    | Callable[[str, Mapping[str, Any]], str | Observation | Exception]
)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that was made."""

    name: str
    arguments: Mapping[str, Any]


class FakeBrowser:
    """Implements the `Browser` protocol from a list of answers.

    A `str` becomes the text of an observation (an error observation if it starts with
    `Error`), an `Observation` is given as is but for a fresh `id` and `seq`, an exception is
    raised, a callable is asked with tool name and arguments.
    """

    def __init__(
        self,
        answers: Iterable[Answer] = (),
        *,
        otherwise: Answer | None = "Result: done",
        tools: Sequence[ToolSpec] = BROWSER_TOOLS.specs,
        screenshots_dir: Path | None = None,
    ) -> None:
        self._answers: deque[Answer] = deque(answers)
        self._otherwise = otherwise
        self._tools = tuple(tools)
        self._screenshots_dir = screenshots_dir
        self._seq = 0
        self.calls: list[RecordedCall] = []
        self.observations: list[Observation] = []
        self.closed = False

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools offered."""
        return self._tools

    @property
    def unused(self) -> int:
        """Answers that nobody has asked for yet."""
        return len(self._answers)

    def will_answer(self, *answers: Answer) -> None:
        """Append answers."""
        self._answers.extend(answers)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Give the next answer.

        Raises:
            Exception: the next answer is an exception.
        """
        self.calls.append(RecordedCall(name, dict(arguments)))
        answer = self._answers.popleft() if self._answers else self._otherwise
        if answer is None:
            raise AssertionError(f"no answer is left for {name} {dict(arguments)!r}")
        if callable(answer):
            answer = answer(name, arguments)
        if isinstance(answer, Exception):
            raise answer
        return self._observation(name, answer)

    async def observe(self) -> Observation:
        """Give the next answer to a look without action."""
        return await self.call(OBSERVE, {})

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True

    def _observation(self, name: str, answer: str | Observation) -> Observation:
        if isinstance(answer, str):
            answer = Observation(
                id="",
                seq=0,
                tool=name,
                text=answer,
                is_error=answer.startswith("Error"),
                url="http://localhost:8000/",
                context="context_A",
                tab="tab_1",
                show_screenshot=name == "screenshot",
            )
        self._seq += 1
        screenshot = answer.screenshot
        if screenshot is None and self._screenshots_dir is not None:
            screenshot = self._screenshots_dir / f"shot-{self._seq:04d}.jpg"
            screenshot.write_bytes(_JPEG)
        made = replace(answer, id=f"obs-{self._seq:04d}", seq=self._seq, screenshot=screenshot)
        self.observations.append(made)
        return made


_JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300"
    + "01" * 64
    + "ffc0000b080001000101011100ffc4001400010000000000000000000000000000000a"
    + "ffc40014100100000000000000000000000000000000"
    + "ffda0008010100003f0037ffd9"
)
"""A picture of one pixel."""
