# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The graders' prompts. A template that uses a variable without a value fails."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("vibench_gym.grading", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 (prompts are plain text, never HTML)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def render(template: str, **variables: object) -> str:
    """Fill `template`.j2.

    Raises:
        jinja2.UndefinedError: a variable that the template uses was not given.
    """
    return _environment().get_template(f"{template}.j2").render(**variables).strip()
