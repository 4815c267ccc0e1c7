# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Each error names the file, the line and what is wrong there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vibench_gym.core.errors import Problem, TaskInvalid
from vibench_gym.core.tasks.yaml_file import MAX_YAML_BYTES, read_yaml_mapping

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"- 1", 1, "is not a mapping of names to values"),
        (b"a: b\nc: *d\n", 2, "is no YAML: found undefined alias 'd'"),
        (b"a: 2026-02-30\n", 1, "is no YAML: day is out of range for month"),
        (b"#" * (MAX_YAML_BYTES + 1), 1, f"is larger than {MAX_YAML_BYTES} bytes"),
    ],
)
def test_a_bad_file_is_one_problem_at_its_line(
    tmp_path: Path, content: bytes, line: int, message: str
) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(TaskInvalid) as caught:
        read_yaml_mapping(path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(path), line)
    assert problem.message.startswith(message)
    assert "\n" not in problem.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    with pytest.raises(TaskInvalid) as caught:
        read_yaml_mapping(path)
    message = "cannot be read: No such file or directory"
    assert caught.value.problems == (Problem(str(path), 1, message),)


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n".ljust(MAX_YAML_BYTES, b"#"))
    assert read_yaml_mapping(path) == {"a": 1}


def test_names_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"1: one\n")
    assert read_yaml_mapping(path) == {"1": "one"}
