# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Reference implementations of a checkout, graded as if they had been built.

The way is that of a rollout: the agent's `/run`, the store, `/verify`, a stack, Chromium. Every app
is graded by a plan of ours that only asks for a first page, `notes` by its own plans as well.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from vibench_gym.core.rundir import RunDir
from vibench_gym.core.tasks.references import CHECKOUT_RESULTS, CHECKOUT_TREE

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = [
    pytest.mark.gym,
    pytest.mark.sandbox,
    pytest.mark.postgres,
    pytest.mark.browser,
    pytest.mark.timeout(1200),
]

RESOURCES = "vibench_resources_server"
PLAN = """<test_plan>
<purpose>To see that the app stands.</purpose>
<seeding_and_precondition>N/A</seeding_and_precondition>
<steps>
<step><name>shows_a_page</name>Open the app. Something is on its page.<points>3</points></step>
<step><name>shows_it_again</name>Reload. It is there again.<points>2</points></step>
</steps>
<full_points>5</full_points>
</test_plan>
"""
SCRIPT = """role: qa
steps:
  - name: shows_a_page
    script:
      - open: {url: /}
      - check: There is an element with a text or a name
        see: ['^Page: http://localhost:8000/', '^ *- [a-z]+[^\\n]*(?:"[^"]+"|: \\S)']
  - name: shows_it_again
    script:
      - reload: {}
      - check: There is an element with a text or a name
        see: ['^Page: http://localhost:8000/', '^ *- [a-z]+[^\\n]*(?:"[^"]+"|: \\S)']
"""


async def hand_over(root: Path, app: str, tree: Path) -> dict[str, Any]:
    """What `/run` answers for an app below a root, with an agent that hands over its reference."""
    # Without nemo-gym these modules are not there, and the tests are skipped before they begin.
    from vibench_gym.gym.rows.rows import row  # noqa: PLC0415
    from vibench_gym.gym.server_processes import GymServers  # noqa: PLC0415

    shutil.copytree(tree, root / CHECKOUT_RESULTS / app / CHECKOUT_TREE)
    given = row(root / "prds" / app, "mvp")
    both = {"vibench_repo_root": str(root)}
    async with GymServers(
        root / "gym",
        "http://127.0.0.1:9/v1",
        resources={"replay": True, **both},
        agent={"harness": "oracle", **both},
    ) as servers:
        return await servers.run(given, timeout_s=1000)


async def test_every_reference_stands(reference: Path, tmp_path: Path) -> None:
    app = reference.parents[1].name
    task = tmp_path / "prds" / app
    for name, text in (
        ("prd/mvp.txt", "An app."),
        ("tests/mvp/stands.txt", PLAN),
        ("replay/mvp/stands.qa.yaml", SCRIPT),
    ):
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text, "utf-8")
    graded = await hand_over(tmp_path, app, reference)
    assert (graded["reward"], graded["mask_sample"]) == (1.0, False), graded["failure_reason"]
    assert (graded["artifact_status"], graded["agent_kind"]) == ("ok", "oracle")


@pytest.mark.usefixtures("notes")
async def test_notes_is_worth_all_its_points(checkout: Path, tmp_path: Path) -> None:
    tree = checkout / CHECKOUT_RESULTS / "notes" / CHECKOUT_TREE
    graded = await hand_over(tmp_path, "notes", tree)
    assert not graded["mask_sample"], graded["failure_reason"]
    (rollout,) = RunDir(tmp_path / "gym" / RESOURCES).rollouts()
    cards = [card for plan in rollout.plans() if (card := plan.read_scorecard()) is not None]
    lost = [(s.name, s.reason) for card in cards for s in card.steps if s.score != s.points]
    assert lost == []
    assert sorted(card.score for card in cards) == [50, 56, 60]
    assert graded["reward"] == 1.0
