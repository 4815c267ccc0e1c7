# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One whole rollout through the servers, as a program whose parts can be killed.

    python rollout.py FOLDER

Servers, policy and harness are those of the demo. The row goes to FOLDER/row.json; none is written
where the rollout was cut off. Called again with the same folder it goes on with the same rollout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.demo import policy_endpoint
from vibench_gym.gym.rows.rows import row
from vibench_gym.gym.server_processes import GymServers

LIMIT_S = 400.0


async def main() -> None:
    folder = Path(sys.argv[1])
    given = row(bundled_tasks_dir() / "pantry", "mvp")
    given["test_plans"] = given["test_plans"][:1]
    (said,) = given["responses_create_params"]["input"]
    said["content"] += "\n\npolicy: good\n"
    resources = {"replay": True, "grading_slots_dir": str(folder / "slots")}
    agent = {"sandbox_timeout": 120, "model_patience_s": 5}
    async with (
        policy_endpoint(folder / "policy.log") as url,
        GymServers(folder, url, resources=resources, agent=agent) as servers,
    ):
        answer = await servers.run({**given, "_ng_rollout_id": "killed"}, timeout_s=LIMIT_S)
    beside = folder / "row.json.tmp"
    beside.write_text(json.dumps(answer), encoding="utf-8")
    beside.replace(folder / "row.json")


if __name__ == "__main__":
    asyncio.run(main())
