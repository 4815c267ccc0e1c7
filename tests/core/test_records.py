# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Records are written as JSON in one form: sorted, indented, ASCII."""

from __future__ import annotations

from vibench_gym.core.records import canonical_json


def test_records_are_written_in_one_form() -> None:
    assert canonical_json({"b": "é", "a": [1.5]}) == (
        '{\n  "a": [\n    1.5\n  ],\n  "b": "\\u00e9"\n}\n'
    )
