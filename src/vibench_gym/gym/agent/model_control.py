# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Checks from our side whether the policy model works, while a harness runs and after it.

A harness waits for ever on a model server that is gone, and a builder may invent its output about
the model. So our own code checks: does the server take connections, and, after a harness failed,
does the model answer at all?
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import time
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vibench_gym.core.config import MIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from vibench_gym.gym.box.model_route import ModelTraffic, ModelUrl

CONNECT_S = 10.0
CONTROL_S = 90.0
LOOK_EVERY_S = 5.0
_SIDE = 64
"""Pixels of the picture that is shown: models may refuse smaller ones for their size."""


@dataclass(frozen=True, slots=True)
class ModelControl:
    """Checks one model server."""

    url: ModelUrl
    """As this host sees it; a control belongs to no rollout, so the run's path is left out."""
    patience_s: float = 180.0
    """How long a model may be gone before a harness is not left waiting for it."""

    async def watch(self, traffic: Callable[[], ModelTraffic | None]) -> str:
        """Return why, once the model has been gone for `patience_s`."""
        gone_since: float | None = None
        while True:
            await asyncio.sleep(min(LOOK_EVERY_S, self.patience_s / 4))
            now = time.monotonic()
            carried = traffic()
            failing = None if carried is None else carried.failing_since
            reason = await self._no_connection()
            gone_since = (gone_since or now) if reason else None
            if gone_since is not None and now - gone_since >= self.patience_s:
                return reason
            if failing is not None and now - failing >= self.patience_s:
                fault = await self.fault()
                if fault:
                    return fault

    async def fault(self) -> str:
        """Why the model does not work, or nothing; a model that is merely slow works."""
        reason = await self._no_connection()
        if reason:
            return reason
        try:
            async with asyncio.timeout(CONTROL_S):
                status = await self._ask("ping")
        except TimeoutError:
            return ""
        except (OSError, ValueError, EOFError) as error:
            return f"the model server broke off: {error!r}"
        return "" if 200 <= status < 300 else f"the model server answers with status {status}"  # noqa: PLR2004 (HTTP's range of success)

    async def takes_pictures(self) -> bool | None:
        """Whether the model answers when it is shown one; None where it does not answer at all.

        A refusal counts only beside an answer to the same question without the picture.
        """
        try:
            async with asyncio.timeout(CONTROL_S):
                if 200 <= await self._ask(_with_picture("ping")) < 300:  # noqa: PLR2004 (as above)
                    return True
                return False if 200 <= await self._ask("ping") < 300 else None  # noqa: PLR2004
        except (OSError, TimeoutError, ValueError, EOFError):
            return None

    async def _no_connection(self) -> str:
        try:
            async with asyncio.timeout(CONNECT_S):
                _, writer = await self._open()
        except (OSError, TimeoutError) as error:
            return f"no connection to the model server: {error!r}"
        writer.transport.abort()
        return ""

    async def _ask(self, content: str | list[dict[str, Any]]) -> int:
        """The status of the answer to a short question."""
        said = {"role": "user", "content": content}
        reader, writer = await self._open()
        try:
            body = json.dumps({"model": "policy", "messages": [said], "max_tokens": 16}).encode()
            head = (
                "POST /v1/chat/completions HTTP/1.1\r\n"
                f"Host: {self.url.host}:{self.url.port}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            line = await reader.readline()
            await reader.read(MIB)
            return int(line.split(b" ", 2)[1][:3])
        except IndexError as error:
            raise ValueError("not HTTP") from error
        finally:
            writer.transport.abort()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        plain = replace(self.url, prefix="")
        return await asyncio.open_connection(
            plain.connect_host, plain.port, ssl=True if plain.scheme == "https" else None
        )


def _with_picture(text: str) -> list[dict[str, Any]]:
    url = f"data:image/png;base64,{base64.b64encode(_white_png()).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def _white_png() -> bytes:
    rows = (b"\0" + b"\xff" * _SIDE * 3) * _SIDE
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body
