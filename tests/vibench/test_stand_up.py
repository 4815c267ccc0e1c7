# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`vibench-gym stand-up` on a checkout: what set-up fetches, what the first page asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from vibench_gym.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.browser
@pytest.mark.timeout(600)
def test_a_reference_by_name(checkout: Path) -> None:
    result = CliRunner().invoke(
        app, ["stand-up", "--vibench-root", str(checkout), "--app", "notes", "--json"]
    )
    assert result.exit_code == 0, result.output
    (notes,) = json.loads(result.stdout)["apps"]
    assert (notes["app"], notes["frameworks"], notes["page"]["status"]) == ("notes", ["Flask"], 200)
    assert notes["setup_blocked_hosts"] == notes["page"]["blocked_hosts"] == []
