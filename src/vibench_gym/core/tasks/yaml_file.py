# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the small YAML files of a task, so that each error names file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from vibench_gym.core.errors import Problem, TaskInvalid

if TYPE_CHECKING:
    from pathlib import Path

MAX_YAML_BYTES = 1024 * 1024


def read_yaml_mapping(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds; an empty file is an empty mapping.

    Raises:
        TaskInvalid: not readable, too large, no YAML, or something else than a mapping.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_YAML_BYTES + 1)
    except OSError as error:
        raise TaskInvalid([Problem(str(path), 1, f"cannot be read: {error.strerror}")]) from error
    if len(data) > MAX_YAML_BYTES:
        raise TaskInvalid([Problem(str(path), 1, f"is larger than {MAX_YAML_BYTES} bytes")])
    try:
        value = yaml.safe_load(data)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        what = getattr(error, "problem", None) or str(error)
        raise TaskInvalid([Problem(str(path), line, f"is no YAML: {what}")]) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TaskInvalid([Problem(str(path), 1, "is not a mapping of names to values")])
    return {str(key): item for key, item in value.items()}
