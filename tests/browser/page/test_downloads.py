# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Names that an app gives to downloads never become paths of ours."""

from __future__ import annotations

import pytest

from vibench_gym.browser.page.downloads import safe_name


@pytest.mark.parametrize(
    ("offered", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("...", "file"),
        ("a b\n\x00c;$(x).txt", "a_b_c_x_.txt"),
        ("", "file"),
        ("x" * 300 + ".csv", "x" * 96 + ".csv"),
    ],
)
def test_names_of_kept_downloads_are_ours(offered: str, kept: str) -> None:
    assert safe_name(offered) == kept
