# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The lists of invariants in docs/ are the tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"


def test_every_invariant_is_listed_and_every_listed_one_is_checked() -> None:
    checked = {
        name
        for path in HERE.glob("test_*.py")
        if path != Path(__file__)
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    listed = [
        name
        for page in ("scoring.md", "threat-model.md")
        for name in re.findall(r"^\| `(test_\w+)` \|", (DOCS / page).read_text(), re.MULTILINE)
    ]
    assert len(set(listed)) == len(listed) >= 25
    assert set(listed) == checked
