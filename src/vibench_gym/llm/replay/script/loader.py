# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Loads replay scripts: the YAML files from which a replayed seeder or QA agent acts.

Everything is checked when a script is loaded, with file and line, so that a typing error never
shows as a failed check of an app. A check without a pattern is refused: a verdict needs a look.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import yaml

from vibench_gym.core.errors import Problem, TaskInvalid
from vibench_gym.core.scoring.fatality import is_non_fatal
from vibench_gym.llm.replay.script.expressions import ExpressionReader, compiled_pattern
from vibench_gym.llm.replay.script.items import (
    Action,
    Capture,
    CheckItem,
    Item,
    Script,
    ScriptStep,
    When,
    always_checks,
    judges_first,
)
from vibench_gym.llm.replay.script.yaml_reader import compose

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.core.toolset import Tool, ToolSet
    from vibench_gym.llm.replay.script.items import ScriptRole
    from vibench_gym.llm.replay.script.snapshot import Locator

MAX_SCRIPT_BYTES = 1024 * 1024
MAX_DEPTH = 20

type PlanSteps = Sequence[str] | Mapping[str, str]
"""Names of a plan's steps in order; as a mapping with their prose, quotes are checked as well."""

type ScriptTools = Mapping[ScriptRole, ToolSet[Tool]]
"""The tools that a role's scripts may call; the agents' own, so that no copy can go stale."""


def load_script(path: Path, tools: ScriptTools, plan_steps: PlanSteps | None = None) -> Script:
    """Load and check a script; `plan_steps` are those of the plan that a QA script is for.

    Raises:
        TaskInvalid: the file cannot be read or breaks the format; names every problem.
    """
    try:
        data = path.read_bytes()
        if len(data) > MAX_SCRIPT_BYTES:
            raise TaskInvalid([Problem(str(path), 1, f"script exceeds {MAX_SCRIPT_BYTES} bytes")])
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskInvalid([Problem(str(path), 1, f"cannot read the script: {error}")]) from error
    return parse_script(text, tools, source=str(path), plan_steps=plan_steps)


def parse_script(
    text: str,
    tools: ScriptTools,
    *,
    source: str = "<script>",
    plan_steps: PlanSteps | None = None,
) -> Script:
    """Like `load_script`, from text.

    Raises:
        TaskInvalid: the text breaks the format; names every problem.
    """
    reader = _Reader(source, tools=tools)
    root = compose(text, source)
    if isinstance(plan_steps, Mapping):
        reader.prose = plan_steps
    script = reader.script(root, None if plan_steps is None else list(plan_steps))
    if reader.problems:
        raise TaskInvalid(sorted(reader.problems, key=lambda problem: problem.line))
    return script


@dataclass
class _Reader(ExpressionReader):
    """Reads a script's nodes."""

    tools: ScriptTools = field(kw_only=True)
    role: ScriptRole = "qa"
    prose: Mapping[str, str] = field(default_factory=dict)
    step_name: str = ""

    def script(self, root: yaml.Node | None, plan_steps: Sequence[str] | None) -> Script:
        if root is None:
            self.problems.append(Problem(self.source, 1, "the script is empty"))
            return Script("qa", (), self.source)
        top = self.mapping(root, "a script", required=("role", "steps"))
        self.only(top, ("role", "steps"))
        role = self.text(top["role"]) if "role" in top else ""
        if role not in ("qa", "seed") and "role" in top:
            self.problem(top["role"], f"role is {role!r}; it must be qa or seed")
        self.role = "seed" if role == "seed" else "qa"
        nodes = self.sequence(top["steps"], "steps") if "steps" in top else []
        steps = tuple(self.step(node) for node in nodes)
        if "steps" in top:
            self.check_names(top["steps"], nodes, [step.name for step in steps], plan_steps)
        return Script(self.role, steps, self.source)

    def check_names(
        self,
        steps_node: yaml.Node,
        nodes: Sequence[yaml.Node],
        names: Sequence[str],
        plan_steps: Sequence[str] | None,
    ) -> None:
        if not nodes:
            self.problem(steps_node, "there are no steps")
        if self.role == "seed":
            if list(names) != ["seed"]:
                self.problem(steps_node, "a seeding script has exactly one step, named 'seed'")
            return
        for index, (name, node) in enumerate(zip(names, nodes, strict=True)):
            if name in names[:index]:
                self.problem(node, f"step {name!r} is repeated")
            if plan_steps is not None and index >= len(plan_steps):
                self.problem(node, f"step {name!r} is not in the plan")
            elif plan_steps is not None and name != plan_steps[index]:
                self.problem(
                    node, f"step {index + 1} is {name!r}, in the plan it is {plan_steps[index]!r}"
                )
        if plan_steps is not None and len(names) < len(plan_steps):
            missing = ", ".join(repr(name) for name in plan_steps[len(names) :])
            self.problem(steps_node, f"steps of the plan are missing: {missing}")

    def step(self, node: yaml.Node) -> ScriptStep:
        entries = self.mapping(node, "a step", required=("name", "script"))
        self.only(entries, ("name", "script"))
        name = self.text(entries["name"]) if "name" in entries else ""
        self.step_name = name
        items = self.items(entries["script"], 0) if "script" in entries else ()
        if self.role == "qa" and items and not always_checks(items):
            self.problem(node, f"step {name!r} can end without a check: a verdict needs a look")
        if self.role == "qa" and judges_first(items):
            self.problem(
                node,
                f"step {name!r} can judge before it acts: begin with an action, or snapshot: {{}}",
            )
        return ScriptStep(name, items)

    def items(self, node: yaml.Node, depth: int) -> tuple[Item, ...]:
        if depth > MAX_DEPTH:
            self.problem(node, "nested too deeply")
            return ()
        nodes = self.sequence(node, "a script's items")
        if not nodes and depth == 0:
            self.problem(node, "the script has no items")
        read = (self.item(entry, depth) for entry in nodes)
        return tuple(item for item in read if item is not None)

    def item(self, node: yaml.Node, depth: int) -> Item | None:
        entries = self.mapping(node, "an item")
        # `check` is also a browser tool (tick a box); its arguments are a mapping, never a text.
        if "check" in entries and not isinstance(entries["check"], yaml.MappingNode):
            return self.check(node, entries, "check")
        if "expect" in entries:
            return self.check(node, entries, "expect")
        if "when" in entries:
            return self.when(entries, node, depth)
        if "capture" in entries:
            return self.capture(node, entries)
        return self.action(node, entries)

    def check(
        self, node: yaml.Node, entries: Mapping[str, yaml.Node], kind: Literal["check", "expect"]
    ) -> CheckItem:
        expected = "check" if self.role == "qa" else "expect"
        if kind != expected:
            self.problem(
                node, f"`{kind}` does not belong in a {self.role} script; use `{expected}`"
            )
        optional = ("see", "not_see", "non_fatal") if kind == "check" else ("see", "not_see")
        self.only(entries, (kind, *optional))
        text = self.text(entries[kind])
        self.placeholders(entries[kind], text)
        if not text.strip():
            self.problem(entries[kind], f"`{kind}` needs a text that says what is checked")
        looks = self.looks(entries)
        if not looks.see and not looks.not_see:
            self.problem(node, f"`{kind}` has neither see nor not_see: a verdict without looking")
        return CheckItem(text, looks, self.non_fatal(entries))

    def when(self, entries: Mapping[str, yaml.Node], node: yaml.Node, depth: int) -> When:
        self.only(entries, ("when", "then", "else"))
        condition = self.mapping(entries["when"], "when")
        self.only(condition, ("see", "not_see"))
        looks = self.looks(condition)
        if not looks.see and not looks.not_see:
            self.problem(node, "`when` has neither see nor not_see")
        then = self.items(entries["then"], depth + 1) if "then" in entries else ()
        otherwise = self.items(entries["else"], depth + 1) if "else" in entries else ()
        if not then and not otherwise:
            self.problem(node, "`when` has neither then nor else")
        return When(looks, then, otherwise)

    def capture(self, node: yaml.Node, entries: Mapping[str, yaml.Node]) -> Capture | None:
        self.only(entries, ("capture", "non_fatal"))
        pairs = self.mapping(entries["capture"], "capture")
        if len(pairs) != 1:
            self.problem(node, "`capture` takes exactly one `name: regex`")
            return None
        ((name, value),) = pairs.items()
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) or name == "today":
            self.problem(node, f"{name!r} is no name for a captured value: use lower case letters")
        pattern = self.pattern(value)
        self.captured.add(name)
        if (compiled := compiled_pattern(pattern)) is not None and compiled.groups < 1:
            self.problem(value, "the regex of `capture` needs a group")
        return Capture(name, pattern, self.non_fatal(entries))

    def action(self, node: yaml.Node, entries: Mapping[str, yaml.Node]) -> Action | None:
        names = [key for key in entries if key != "non_fatal"]
        if len(names) != 1:
            self.problem(node, f"an item has one key, the tool's name; this has {names}")
            return None
        name = names[0]
        tool = self.tools[self.role].get(name)
        if tool is None:
            self.problem(node, f"{name!r} is no tool or item of a {self.role} script")
            return None
        arguments = self.mapping(entries[name], f"arguments of {name}", allow_empty=True)
        plain, located = self.arguments(node, tool, arguments)
        if self.role == "seed" and "non_fatal" in entries:
            self.problem(entries["non_fatal"], "non_fatal does not belong in a seed script")
        return Action(tool, plain, located, self.non_fatal(entries))

    def arguments(
        self, node: yaml.Node, tool: type[Tool], arguments: Mapping[str, yaml.Node]
    ) -> tuple[dict[str, Any], dict[str, Locator]]:
        """The call's plain arguments, and the locators of those that name an element."""
        tool_name, parameters = tool.tool_name, tool.parameters()
        for name, argument in arguments.items():
            if name not in parameters:
                self.problem(
                    argument, f"{tool_name} has no argument {name!r}; it has {list(parameters)}"
                )
        for name, parameter in parameters.items():
            if parameter.required and name not in arguments:
                self.problem(node, f"{tool_name} needs the argument {name!r}")
        elements = [name for name, parameter in parameters.items() if parameter.is_element]
        located = {
            name: locator
            for name in elements
            if name in arguments and (locator := self.locator(arguments[name])) is not None
        }
        plain = {
            name: self.value(
                argument,
                free=tool.for_shell,
                as_written=name in parameters and parameters[name].is_text,
            )
            for name, argument in arguments.items()
            if name not in elements
        }
        return plain, located

    def non_fatal(self, entries: Mapping[str, yaml.Node]) -> str | None:
        if "non_fatal" not in entries:
            return None
        quote = self.text(entries["non_fatal"])
        if not quote.strip():
            self.problem(entries["non_fatal"], "non_fatal quotes a sentence of the plan")
        elif self.prose and not is_non_fatal(self.prose.get(self.step_name, ""), quote):
            self.problem(
                entries["non_fatal"],
                f"{quote!r} makes nothing non-fatal in the plan's step {self.step_name!r}",
            )
        return quote
