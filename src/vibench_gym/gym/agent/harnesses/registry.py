# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The table of harnesses, by the value of the agent's setting `harness`.

A new harness adds one line to `HARNESSES`; nothing else asks which harness it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.agent.harnesses.given_tree import Nop, Oracle
from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vibench_gym.gym.agent.harnesses.base import Harness

HARNESSES: Final[dict[str, type[Harness]]] = {
    harness.name: harness for harness in (OpenCode, Oracle, Nop)
}


def make_harness(name: str, settings: Mapping[str, Any], options: Mapping[str, Any]) -> Harness:
    """The harness of that name.

    Args:
        name: a key of `HARNESSES`.
        settings: the agent's settings; those that the harness does not have are left out.
        options: the agent's `harness_options`; they win, and all of them have to be the harness's.

    Raises:
        ConfigError: an option is unknown, or a setting is not what the harness takes.
        PrerequisiteMissing: its program is not there and cannot be installed.
    """
    harness = HARNESSES[name]
    known = harness.settings_model.model_fields
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        raise ConfigError(f"harness_options: {name} does not know {', '.join(unknown)}")
    named = {key: value for key, value in settings.items() if key in known}
    try:
        made = harness.settings_model.model_validate({**named, **options})
    except ValidationError as error:
        raise ConfigError(f"harness_options: {error}") from error
    return harness.from_settings(made)
