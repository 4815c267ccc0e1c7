# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a set-up may try with the mirror's connections, beside clients that are merely old."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.attacks.case import Seen, redteam
from support.fake_registry import mirrored
from vibench_gym.stack.packages.refusals import MALFORMED

if TYPE_CHECKING:
    from pathlib import Path

ASK = "GET /left-pad/-/x-1.0.0.tgz HTTP/1.1\r\nHost: x\r\n"
OLD = {
    "says close": f"{ASK}Connection: close\r\n\r\n",
    "HTTP/1.0": "GET /left-pad/-/x-1.0.0.tgz HTTP/1.0\r\n\r\n",
    "refused write": "PUT /left-pad HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
}
INNER = "GET /simple/pkg/ HTTP/1.1\r\nHost: x\r\n\r\n"
TWO_READINGS = {
    "two lengths": f"{ASK}Content-Length: 0\r\nContent-Length: {len(INNER)}\r\n\r\n{INNER}",
    "space before the colon": f"{ASK}Content-Length : {len(INNER)}\r\n\r\n{INNER}",
    "length in another base": f"{ASK}Content-Length: 0x10\r\n\r\n{INNER}",
}


@redteam(
    "setup",
    gain="blame its time-out on a mirror that does not end connections: an honest one lost by that",
    expected="every client that reads to the end gets there at once",
    defences=["connections_end"],
)
async def test_reads_until_the_connection_ends(tmp_path: Path, seen: Seen) -> None:
    waiting = []
    async with mirrored(tmp_path) as m:
        # The honest twin keeps its connection for more.
        kept = await m.raw(f"{ASK}\r\n{ASK}\r\n".replace("\r\n", "\n"))
        for name, text in OLD.items():
            answer, ended = await m.to_the_end(text.encode())
            assert answer.startswith(b"HTTP/1.1 "), name
            waiting += [] if ended else [name]
    seen(f"{len(waiting)} of {len(OLD)} clients left waiting")
    assert kept.count(b"HTTP/1.1 200 OK") == 2
    assert waiting == []


@redteam(
    "setup",
    gain="ask for a package in the body of another request, seen by one reader and not by the next",
    expected="refused as malformed, counted, nothing asked of the registry",
    defences=["malformed_requests_answered"],
)
async def test_hides_a_request_in_another(tmp_path: Path, seen: Seen) -> None:
    async with mirrored(tmp_path) as m:
        answers = [await m.to_the_end(text.encode()) for text in TWO_READINGS.values()]
        counted = dict(m.mirror.refusals.requests)
        asked = list(m.registry.asked)
        honest = await m.raw(f"{ASK}Content-Length: 3\n\nabc{ASK}\n".replace("\r\n", "\n"))
    seen(f"{len(asked)} asked of the registry, counted {counted}")
    assert [answer[:13] for answer, _ in answers] == [b"HTTP/1.1 400 "] * len(answers)
    assert counted == {MALFORMED: len(TWO_READINGS)}
    assert asked == []
    assert honest.count(b"HTTP/1.1 200 OK") == 2
