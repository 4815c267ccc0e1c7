# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Turns a row's input into the one prompt text that a harness takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import HTTPException

if TYPE_CHECKING:
    from nemo_gym.openai_utils import NeMoGymResponseCreateParamsNonStreaming

_FIRST = ("system", "developer")


def harness_prompt(params: NeMoGymResponseCreateParamsNonStreaming) -> str:
    """Instructions first, then the user's messages.

    Raises:
        HTTPException: 422: there is no text of a user.
    """
    if isinstance(params.input, str):
        messages: list[tuple[str, str]] = [("user", params.input)]
    else:
        messages = [(_field(item, "role"), _text(_field(item, "content"))) for item in params.input]
    if params.instructions:
        messages.insert(0, ("system", params.instructions))
    if not any(text.strip() for role, text in messages if role == "user"):
        raise HTTPException(422, "the row's input has no text of a user")
    ordered = [text for role, text in messages if role in _FIRST]
    ordered += [text for role, text in messages if role == "user"]
    return "\n\n".join(text for text in ordered if text.strip())


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [_field(part, "text") for part in content or ()]
    return "\n".join(part for part in parts if isinstance(part, str))


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)
