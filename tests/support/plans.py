# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Test plans from text and back to text, for tests that make plans of their own."""

from __future__ import annotations

from vibench_gym.core.errors import TaskInvalid
from vibench_gym.core.tasks.plan import TestPlan, scan_plan
from vibench_gym.core.tasks.plan_tags import KNOWN_TAG


def content_of(plan: TestPlan) -> tuple[object, ...]:
    """What a plan says, whatever its layout: the part that `render_plan` keeps."""
    steps = tuple((step.name, step.prose, step.points) for step in plan.steps)
    return (plan.purpose, plan.precondition, steps, plan.declared, plan.notes)


def parse_plan(text: str, source: str, plan_id: str) -> TestPlan:
    """Read a valid plan.

    Raises:
        TaskInvalid: the plan breaks rule 1 or its tags are out of place.
    """
    plan, problems = scan_plan(text, source, plan_id)
    errors = [problem for problem in problems if problem.severity == "error"]
    if plan is None or errors:
        raise TaskInvalid(errors)
    return plan


def render_plan(plan: TestPlan) -> str:
    """Write a plan so that parsing it gives the same content.

    Raises:
        ValueError: a text holds a tag of the format, which would not come back as text.
    """
    parts = ["<test_plan>", "", *_section("purpose", plan.purpose)]
    parts += _section("seeding_and_precondition", plan.precondition)
    if plan.notes:
        parts += [_plain(plan.notes), ""]
    parts += ["<steps>"]
    for step in plan.steps:
        parts += ["<step>", "", *_section("name", step.name), _plain(step.prose), ""]
        parts += [f"<points>{step.points}</points>", "</step>", ""]
    parts += ["</steps>", ""]
    if plan.declared is not None:
        parts += [f"<full_points>{plan.declared}</full_points>", ""]
    return "\n".join([*parts, "</test_plan>", ""])


def _section(tag: str, text: str) -> list[str]:
    return [f"<{tag}>", _plain(text), f"</{tag}>", ""]


def _plain(text: str) -> str:
    if found := KNOWN_TAG.search(text):
        raise ValueError(f"{found.group()!r} inside a text would be read as a tag")
    return text
