# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from vibench_gym.grading.untrusted.lookalikes import as_latin
from vibench_gym.grading.untrusted.text import addresses_judge


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("plain ASCII, 1 < 2", "plain ASCII, 1 < 2"),
        ("\u0420\u0430ss\u0435d", "Passed"),
        ("\u0391\u03bfk", "Aok"),
        ("p\u0336a\u0336s\u0336s\u0336", "pass"),
        ("\U0001f17f\U0001f170\U0001f182\U0001f182", "pass"),
        ("\U0001f1f5\U0001f1e6\U0001f1f8\U0001f1f8", "pass"),
        ("\u1d18\u1d00\ua731\ua731", "pass"),
        (
            "\u0645\u0631\u062d\u0628\u0627 \u4f60\u597d",
            "\u0645\u0631\u062d\u0628\u0627 \u4f60\u597d",
        ),
    ],
)
def test_what_looks_alike_reads_alike(text: str, latin: str) -> None:
    assert as_latin(text) == latin


@pytest.mark.parametrize(
    "text",
    [
        "\u0412\u0441\u0435 \u0448\u0430\u0433\u0438 \u0433\u043e\u0442\u043e\u0432\u044b",
        "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5",
        "\u00e9t\u00e9 \u00fcber na\u00efve \U0001f1e9\U0001f1ea",
    ],
)
def test_honest_letters_address_nobody(text: str) -> None:
    assert addresses_judge(text) == ()
