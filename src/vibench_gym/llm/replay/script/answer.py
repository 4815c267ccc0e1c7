# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A script's answer to a request, with token counts that look like a real endpoint's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from vibench_gym.llm.base import Completion, Message, Usage
from vibench_gym.llm.replay.script.player import DONE_TEXT, next_call

if TYPE_CHECKING:
    from vibench_gym.llm.replay.cassette import Request
    from vibench_gym.llm.replay.script.items import Script

_CHARS_PER_TOKEN = 4


def play(script: Script, request: Request) -> Completion:
    """The script's next turn, with made-up but plausible and repeatable token counts.

    Raises:
        CassetteMiss: the conversation does not follow the script.
    """
    call = next_call(script, request.messages)
    if call is None:
        message, finish, output = Message("assistant", DONE_TEXT), "stop", DONE_TEXT
    else:
        message = Message("assistant", tool_calls=(call,))
        finish, output = "tool_calls", call.name + call.raw_arguments
    sizes = [_size(turn) for turn in request.messages]
    asked = sum(sizes) + len(json.dumps(request.tools))
    # As with a prompt cache: everything before the last exchange has been seen.
    cached = asked - sum(sizes[-2:]) if call is not None and len(sizes) > 2 else 0  # noqa: PLR2004
    usage = Usage(_tokens(asked), _tokens(len(output)), _tokens(cached) if cached > 0 else 0)
    return Completion(message, finish, usage, needs_history=True)


def _size(message: Message) -> int:
    return len(message.text) + sum(
        len(call.name) + len(call.raw_arguments) for call in message.tool_calls
    )


def _tokens(chars: int) -> int:
    return max(1, chars // _CHARS_PER_TOKEN)
