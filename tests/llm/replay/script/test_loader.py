# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Scripts that break the format are refused with file and line, all problems at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import TaskInvalid
from vibench_gym.grading.model_sources import SCRIPT_TOOLS
from vibench_gym.llm.replay.script.items import Action, Capture, CheckItem, When
from vibench_gym.llm.replay.script.loader import MAX_SCRIPT_BYTES, load_script, parse_script

if TYPE_CHECKING:
    from vibench_gym.core.toolset import Tool

GOOD = """\
role: qa
steps:
  - name: test_a
    script:
      - open: {url: /}
      - fill: {ref: 'textbox "Name"', text: 007}
      - check: {ref: 'checkbox "Done"', checked: false}
      - click: {ref: {find: 'button "Delete"', near: 'Milk', nth: 2}}
        non_fatal: the quote
      - capture: {code: 'code: (\\w+)'}
      - when: {see: 'Unlock', not_see: []}
        then:
          - press: {key: '${code}'}
        else:
          - back:
      - check: It is there
        see: ['${today+1}', '${code}']
        not_see: ['(?i)error']
"""


def problems(text: str, plan: list[str] | dict[str, str] | None = None) -> list[str]:
    with pytest.raises(TaskInvalid) as caught:
        parse_script(text, SCRIPT_TOOLS, source="s.yaml", plan_steps=plan)
    return [str(problem) for problem in caught.value.problems]


def items(*lines: str, role: str = "qa", tail: bool = True) -> str:
    name = "test_a" if role == "qa" else "seed"
    head = [f"role: {role}", "steps:", f"  - name: {name}", "    script:"]
    body = [f"      {line}" for line in lines]
    end = ["      - snapshot: {}", "      - check: c", "        see: [x]"] if tail else []
    return "\n".join(head + body + end)


def test_a_good_script() -> None:
    script = parse_script(GOOD, SCRIPT_TOOLS, plan_steps=["test_a"])
    opened, filled, ticked, clicked, capture, when, check = script.steps[0].items
    assert isinstance(opened, Action)
    assert opened.arguments == {"url": "/"}
    assert isinstance(filled, Action)
    assert filled.arguments == {"text": "007"}
    assert str(filled.locators["ref"]) == 'textbox "Name"'
    assert isinstance(ticked, Action)
    assert ticked.tool.tool_name == "check"
    assert ticked.arguments == {"checked": False}
    assert isinstance(clicked, Action)
    assert str(clicked.locators["ref"]) == 'button "Delete" near "Milk" (number 2)'
    assert clicked.non_fatal == "the quote"
    assert isinstance(capture, Capture)
    assert isinstance(when, When)
    assert when.looks.see == ("Unlock",)
    assert isinstance(check, CheckItem)
    assert check.text == "It is there"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the script is empty"),
        ("[]", 1, "pairs are expected"),
        ("role: qa\n- bad", 2, "not valid YAML"),
        ("role: qa\nsteps: {}", 2, "a list is expected"),
        ("role: qa\nsteps: []", 2, "there are no steps"),
        ("role: judge\nsteps: []", 1, "it must be qa or seed"),
        ("role: qa", 1, "a script needs 'steps'"),
        ("role: qa\nextra: 1\nsteps: []", 2, "'extra' does not belong here"),
        ("role: qa\nrole: qa\nsteps: []", 2, "'role' is repeated"),
        ("role: qa\nsteps: [&a {name: x}, *a]", 2, "aliases are refused"),
        (items("- tap: {url: /}"), 5, "'tap' is no tool or item of a qa script"),
        (items("- shell: {command: ls}"), 5, "'shell' is no tool or item of a qa script"),
        (items("- open: {}"), 5, "open needs the argument 'url'"),
        (items("- open: {url: /, x: 1}"), 5, "open has no argument 'x'"),
        (items("- open: {url: /}", "  click: {ref: link}"), 5, "an item has one key"),
        (items("- click: {ref: 'button Save'}"), 5, "is not a locator"),
        (items("- click: {ref: {near: x}}"), 5, "a locator needs 'find'"),
        (items("- click: {ref: {find: link, nth: 0}}"), 5, "counts from 1"),
        (items("- click: {ref: {find: link, of: 0}}"), 5, "'of' does not belong here"),
        (items("- click: {ref: [link]}"), 5, "a text is expected"),
        (items("- check: looks good"), 5, "a verdict without looking"),
        (items("- check: ''", "  see: [x]"), 5, "needs a text"),
        (items("- check: c", "  see: ['(']"), 6, "bad regex"),
        (items("- check: c", "  see: ['']"), 6, "empty regex"),
        (items("- check: c", "  see: ['.*']"), 6, "matches the empty text"),
        (items("- check: c", "  see: ['${code}']"), 6, "neither a date nor captured"),
        (items("- check: c", "  see: [x]", "  non_fatal: ' '"), 7, "quotes a sentence"),
        (items("- expect: c", "  see: [x]"), 5, "`expect` does not belong in a qa script"),
        (items("- when: {}", "  then: [back: {}]"), 5, "neither see nor not_see"),
        (items("- when: {see: [x]}"), 5, "neither then nor else"),
        (items("- capture: {a: 'x'}"), 5, "needs a group"),
        (items("- capture: {A: '(x)'}"), 5, "no name for a captured value"),
        (items("- capture: {today: '(x)'}"), 5, "no name for a captured value"),
        (items("- capture: {a: (x), b: (y)}"), 5, "exactly one"),
        (items("- capture: {a: '('}"), 5, "bad regex"),
        (items("- fill: {ref: textbox, text: '${x}'}"), 5, "neither a date nor captured"),
        (items("- snapshot: {}", tail=False), 3, "can end without a check"),
        (
            items("- check: c", "  see: [x]", tail=False),
            3,
            "can judge before it acts",
        ),
        (items("- check: c", "  see: [x]", role="seed", tail=False), 5, "use `expect`"),
        (
            items("- back: {}", "  non_fatal: x", role="seed", tail=False),
            6,
            "does not belong in a seed script",
        ),
    ],
)
def test_problems_name_their_line(text: str, line: int, message: str) -> None:
    found = problems(text)
    assert any(
        problem.startswith(f"s.yaml:{line}: ") and message in problem for problem in found
    ), found


def test_all_problems_at_once_in_order() -> None:
    found = problems(items("- tap: {url: /}", "- check: c"))
    assert [int(re.split(":", problem)[1]) for problem in found] == sorted([5, 6, 3])


def test_names_and_order_are_the_plans() -> None:
    text = GOOD + "  - name: test_b\n    script: [{back: {}}, {check: c, see: [x]}]\n"
    parse_script(text, SCRIPT_TOOLS, plan_steps=["test_a", "test_b"])
    assert "in the plan it is 'test_b'" in problems(text, ["test_b", "test_a"])[0]
    assert "is not in the plan" in problems(text, ["test_a"])[0]
    assert "are missing: 'test_c'" in problems(text, ["test_a", "test_b", "test_c"])[0]
    assert "is repeated" in problems(text.replace("test_b", "test_a"))[0]


def test_quotes_are_held_against_the_plans_prose() -> None:
    text = items("- back: {}", "- check: c", "  see: [x]", "  non_fatal: (non-fatal) The star")
    parse_script(text, SCRIPT_TOOLS, plan_steps={"test_a": "Look. (non-fatal) The star is shown."})
    (found,) = problems(text, {"test_a": "Look. The star is shown."})
    assert found.startswith("s.yaml:8: ")
    assert "makes nothing non-fatal in the plan's step 'test_a'" in found


def test_a_seeding_script_has_one_step() -> None:
    script = parse_script(
        items(
            "- shell: {command: 'echo ${HOME}'}",
            "- expect: c",
            "  see: [x]",
            role="seed",
            tail=False,
        ),
        SCRIPT_TOOLS,
    )
    assert script.role == "seed"
    text = items("- back: {}", role="seed", tail=False).replace("name: seed", "name: other")
    assert "exactly one step" in problems(text)[0]


def test_depth_is_bounded() -> None:
    deep = "[{back: {}}]"
    for _ in range(25):
        deep = f"[{{when: {{see: [x]}}, then: {deep}}}]"
    text = f"role: qa\nsteps: [{{name: a, script: {deep}}}]"
    assert any("nested too deeply" in problem for problem in problems(text))
    assert "nested too deeply" in problems("[" * 5000 + "]" * 5000)[0]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.qa.yaml"
    for data in (None, b"\xff\xfe", b"#" * (MAX_SCRIPT_BYTES + 1)):
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(TaskInvalid) as caught:
            load_script(path, SCRIPT_TOOLS)
        assert caught.value.problems[0].file == str(path)
    path.write_text(GOOD)
    assert load_script(path, SCRIPT_TOOLS).source == str(path)


@pytest.mark.parametrize("tool", tuple(SCRIPT_TOOLS["seed"]))
def test_arguments_are_read_as_the_tool_takes_them(tool: type[Tool]) -> None:
    parameters = tool.parameters()
    values = {
        name: "button" if parameter.is_element else "007" if parameter.is_text else "1"
        for name, parameter in parameters.items()
    }
    written = ", ".join(f"{name}: {value}" for name, value in values.items())
    seeding = items(f"- {tool.tool_name}: {{{written}}}", role="seed", tail=False)
    (action,) = parse_script(seeding, SCRIPT_TOOLS).steps[0].items
    assert isinstance(action, Action)
    assert action.tool is tool
    for name, parameter in parameters.items():
        assert (name in action.locators) == parameter.is_element
        if not parameter.is_element:
            assert action.arguments[name] == ("007" if parameter.is_text else 1)


def test_what_ends_the_work_is_no_action_of_a_script() -> None:
    for name in ("finish_seeding", "give_up", "end_step"):
        text = items(f"- {name}: {{}}", role="seed", tail=False)
        assert any("is no tool or item of a seed script" in line for line in problems(text))


def test_the_documentation_names_the_tools_with_findings_and_for_shells() -> None:
    text = " ".join((Path(__file__).parents[4] / "docs" / "replay.md").read_text().split())
    for property_name, sentence in (
        ("result_is_finding", r"for ([^;.]*) the result is what was found out"),
        ("for_shell", r"In ([^;.]*), other `\$\{\.\.\.\}` are the shell's"),
    ):
        named = re.search(sentence, text)
        assert named is not None
        assert set(re.findall(r"`(\w+)`", named[1])) == {
            tool.tool_name for tool in SCRIPT_TOOLS["seed"] if getattr(tool, property_name)
        }
