# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Scripts of ours in a page, where the page's own scripts can neither see nor change them.

They run in an isolated world over the DevTools protocol: same document, other globals. The page's
`MutationObserver`, timers and `JSON` may be replaced by anything; ours are not.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

# Not guessable and not ours by name: stack traces of a page's own setters may show it.
_WORLD = secrets.token_hex(8)


class IsolatedWorld:
    """Evaluates expressions in the main frame of one page.

    Raises:
        PlaywrightError: the page is gone, navigated meanwhile, or the expression threw.
    """

    def __init__(self, cdp: CDPSession) -> None:
        self._cdp = cdp
        self._context: int | None = None

    async def evaluate(self, expression: str, *, user_gesture: bool = False) -> Any:
        """Evaluate; a promise is awaited, the value comes back as JSON."""
        if self._context is not None:
            try:
                return await self._run(expression, self._context, user_gesture)
            except PlaywrightError as error:
                if "context" not in error.message and "navigated" not in error.message:
                    raise
                self._context = None
        self._context = await self._make()
        return await self._run(expression, self._context, user_gesture)

    async def call(self, function: str, *arguments: object, user_gesture: bool = False) -> Any:
        """Call a function expression with JSON arguments."""
        listed = ",".join(json.dumps(argument) for argument in arguments)
        return await self.evaluate(f"({function})({listed})", user_gesture=user_gesture)

    async def _make(self) -> int:
        tree = await self._cdp.send("Page.getFrameTree")
        frame = tree["frameTree"]["frame"]["id"]
        created = await self._cdp.send(
            "Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD}
        )
        return int(created["executionContextId"])

    async def _run(self, expression: str, context: int, user_gesture: bool) -> Any:
        answer = await self._cdp.send(
            "Runtime.evaluate",
            {
                "expression": expression,
                "contextId": context,
                "returnByValue": True,
                "awaitPromise": True,
                "userGesture": user_gesture,
            },
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            thrown = details.get("exception", {}).get("description") or details.get("text", "")
            raise PlaywrightError(str(thrown)[:300])
        return answer["result"].get("value")
