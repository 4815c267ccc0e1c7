# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Run by `gym env test --resources-server vibench`; the server's own tests are in `tests/gym`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from resources_servers.vibench import app, task_data

from vibench_gym.gym.server.resources_server import VibenchResourcesServer
from vibench_gym.gym.server.task_rows import TaskRows
from vibench_gym.gym.wire import VibenchSeedSessionRequest

pytestmark = pytest.mark.gym
DATA = Path(__file__).resolve().parents[1] / "data"


def read_rows() -> list[dict[str, Any]]:
    with (DATA / "example.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_the_entry_point_starts_nothing_when_it_is_imported() -> None:
    assert vars(app)["VibenchResourcesServer"] is VibenchResourcesServer
    assert not hasattr(app, "app")


@pytest.mark.parametrize("row", read_rows(), ids=lambda row: str(row["app"]))
def test_an_example_row_is_valid_and_served(row: dict[str, Any]) -> None:
    task_data.TaskData.model_validate(row)
    seed = TaskRows().seed(VibenchSeedSessionRequest.model_validate(row))

    assert seed.prd_text
    assert "<test_plan>" not in seed.model_dump_json()
