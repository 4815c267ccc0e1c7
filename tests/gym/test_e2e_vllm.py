# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The README's command for a policy of vLLM; the policy uses every tool of its harness."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.gym_servers.command_line import until_gone
from support.gym_servers.readme import ROWS, ReadmeRun

pytestmark = [pytest.mark.gym, pytest.mark.sandbox, pytest.mark.postgres, pytest.mark.browser]
REPO = Path(__file__).resolve().parents[2]
APP = "doodles"


def row_with_policy(policy: str, folder: Path) -> str:
    """A file with one row, for one of the scripted policies."""
    with (REPO / ROWS).open(encoding="utf-8") as file:
        row = next(row for row in map(json.loads, file) if row["app"] == APP)
    (said,) = row["responses_create_params"]["input"]
    said["content"] += f"\n\npolicy: {policy}\n"
    chosen = folder / "rows.jsonl"
    chosen.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return str(chosen)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_policy_of_vllm_with_a_sub_agent_is_healthy(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    readme = ReadmeRun(REPO / "README.md", tmp_path, programs, model_type="vllm_model")
    with readme.servers():
        assert "(responses_api_models/vllm_model)" in (tmp_path / "start.log").read_text()
        row = readme.collect(row_with_policy("tools", tmp_path))[APP]

    assert (row["reward"], row["mask_sample"], row["harness_status"]) == (1.0, False, "ok")
    used = [item for item in row["response"]["output"] if item["type"] == "function_call"]
    assert {"glob", "grep", "read", "task"} <= {item["name"] for item in used}
    assert {item["status"] for item in used} == {"completed"}
    with (tmp_path / "results/rollout_verdicts.jsonl").open(encoding="utf-8") as file:
        (verdict,) = map(json.loads, file)
    assert (verdict["verdict"], verdict["findings"]) == ("healthy", []), verdict
    calls = row["ng_trajectory"]["model_calls"]
    assert len(calls) == row["model_calls"]
    told = sum(call["token_stats"]["prompt_tokens"] for call in calls)
    assert row["response"]["usage"]["input_tokens"] == told
    assert len(row["ng_trajectory"]["invocations"]) == 2  # the sub-agent's, too
    assert until_gone(str(tmp_path)) == {}
