# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tools as models call them: specification, call and result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model made. `arguments` is None where its JSON could not be read."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw_arguments: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered: text for the model, images (PNG or JPEG files) beside it."""

    text: str
    is_error: bool = False
    images: tuple[Path, ...] = field(default=())
