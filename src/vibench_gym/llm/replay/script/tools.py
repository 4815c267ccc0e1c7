# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tools that scripts may call, by parameter name (True: required).

Typing errors in a script are found when it is loaded, not in the middle of a plan.

A copy of names on purpose: models know no browser. tests/llm compare it with the real tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCATED: Final = ("ref", "target_ref")
"""Parameters that hold a locator in a script and an element ref in the call."""

STRING_PARAMETERS: Final = frozenset(
    {"action", "button", "command", "content", "context", "element", "files", "key"}
    | {"modifiers", "name", "path", "tab", "text", "url", "values"}
)
"""Parameters whose values are texts however YAML would read them."""

_ELEMENT: Final[Mapping[str, bool]] = {"ref": True, "element": False}

BROWSER_TOOLS: Final[Mapping[str, Mapping[str, bool]]] = {
    "open": {"url": True},
    "click": {**_ELEMENT, "button": False, "double": False, "modifiers": False},
    "fill": {**_ELEMENT, "text": True},
    "type": {"text": True, "ref": False, "element": False, "submit": False},
    "press": {"key": True, "ref": False, "element": False},
    "select": {**_ELEMENT, "values": True},
    "check": {**_ELEMENT, "checked": False},
    "hover": _ELEMENT,
    "drag": {**_ELEMENT, "target_ref": True},
    "mouse": {"actions": True},
    "upload": {**_ELEMENT, "files": True},
    "download": _ELEMENT,
    "dialog": {"accept": True, "text": False},
    "wait_for": {"text": False, "gone": False, "seconds": False, "timeout_s": False},
    "back": {},
    "forward": {},
    "reload": {},
    "new_tab": {"name": False, "url": False},
    "new_context": {"name": True, "url": False},
    "switch": {"context": False, "tab": False},
    "close_tab": {"tab": False},
    "geolocation": {"latitude": False, "longitude": False, "denied": False},
    "offline": {"offline": True},
    "clipboard": {"action": True, "text": False},
    "viewport": {"width": True, "height": True},
    "screenshot": {"full_page": False},
    "read": _ELEMENT,
    "snapshot": {"ref": False},
}

SHELL_TOOLS: Final[Mapping[str, Mapping[str, bool]]] = {
    "shell": {"command": True, "timeout_s": False},
    "write_file": {"path": True, "content": True},
}

ROLE_TOOLS: Final[Mapping[str, Mapping[str, Mapping[str, bool]]]] = {
    "qa": BROWSER_TOOLS,
    "seed": {**BROWSER_TOOLS, **SHELL_TOOLS},
}
