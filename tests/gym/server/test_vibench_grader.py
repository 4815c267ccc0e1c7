# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`grader: vibench`: what stops it at the start, and that the graders' keys are found nowhere."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest

from support.docker.images import import_image, left_of
from support.docker.vibench_lab import KEY, SEED, card
from support.docker.vibench_stub import IMAGE, TOKEN, make_checkout, make_judged_app
from support.grading import make_plan
from support.gym_servers.in_process import GymLab, make_verify_body, pack, server_client
from vibench_gym.core.config import VibenchConfig
from vibench_gym.core.redact import PIECE
from vibench_gym.grading.vibench.grader import VibenchGrader
from vibench_gym.gym.server.resources_server import VibenchResourcesServer
from vibench_gym.report.html import write_report

if TYPE_CHECKING:
    from pathlib import Path

    from vibench_gym.gym.server.config import VibenchResourcesServerConfig

pytestmark = pytest.mark.gym


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GymLab:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    made = GymLab(tmp_path)
    make_checkout(tmp_path / "vibench")
    return made


def config(lab: GymLab, **settings: Any) -> VibenchResourcesServerConfig:
    return lab.config(**{"grader": "vibench", "replay": False, **settings})


def start(config: VibenchResourcesServerConfig) -> str:
    """The message with which a server refuses to start."""
    server = VibenchResourcesServer(config=config, server_client=server_client())
    with pytest.raises(SystemExit) as stopped:
        server.setup_webserver()
    return str(stopped.value)


def fake_docker(lab: GymLab, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lab.root / "bin/docker"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))


def test_without_a_checkout(lab: GymLab) -> None:
    assert "set vibench_repo_root" in start(config(lab, vibench_repo_root=None))


def test_with_the_data_alone(lab: GymLab) -> None:
    (lab.root / "vibench/_harness/runner/scripts/run-seed.py").unlink()

    assert "needs a whole checkout" in start(config(lab))


def test_without_docker(lab: GymLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(lab.root))

    assert "there is no 'docker' on PATH" in start(config(lab))


def test_without_keys(lab: GymLab, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(lab, monkeypatch)

    assert "lack AGENT_LLM_API_KEY" in start(config(lab))


def test_settings_mean_what_they_mean_where_nemo_gym_ships_them(
    lab: GymLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_docker(lab, monkeypatch)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    settings = {"evaluation_timeout_s": 60, "cleanup_grace_s": 5, "grading": {"retries": 0}}
    made = config(lab, grader_model_name="Opus_4.6", keep_evaluation_artifacts=False, **settings)
    grader = VibenchResourcesServer(config=made, server_client=server_client()).make_grader()

    assert isinstance(grader, VibenchGrader)
    assert grader.environment["AGENT_SEEDING_LLM_MODEL"] == "stub/Opus_4.6"
    assert grader.config == VibenchConfig(
        plan_timeout_s=60, cleanup_grace_s=5, retries=0, keep_artifacts=False
    )
    assert config(lab).vibench_model == "Sonnet_4.5"


class Arguments:
    """The arguments of every process that ran meanwhile."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    async def watch(self) -> None:
        while True:
            process = await asyncio.create_subprocess_exec(
                "ps", "-eo", "args", stdout=asyncio.subprocess.PIPE
            )
            out, _ = await process.communicate()
            self.seen.update(out.decode(errors="replace").splitlines())
            await asyncio.sleep(0.1)


def forms(key: str) -> set[str]:
    """What gives a key away: long enough pieces of each of its forms."""
    whole = {key, key[::-1], key.encode().hex(), quote(key, safe="")}
    for shift in range(3):
        whole.add(base64.b64encode(b"x" * shift + key.encode()).decode()[4:-4])
    bare = {"".join(filter(str.isalnum, form)).lower() for form in whole}
    return {form[at : at + PIECE] for form in bare for at in range(len(form) - PIECE + 1)}


def given_away(text: str, key: str = KEY) -> list[str]:
    bare = "".join(filter(str.isalnum, text)).lower()
    return sorted(form for form in forms(key) if form in bare)


@pytest.mark.docker
@pytest.mark.timeout(900)
async def test_the_graders_keys_are_found_nowhere(
    lab: GymLab, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    import_image(IMAGE)
    token = secrets.token_hex(4)
    keys = lab.root / "keys.env"
    keys.write_text(
        f"ANTHROPIC_API_KEY={KEY}\n{TOKEN}={token}\nAGENT_STUB_TELLS=AGENT_SEEDING_LLM_API_KEY\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("OPENAI_API_KEY", KEY[::-1])
    plan = make_plan("test1")
    told = card(plan, [True, True], test_overview="$AGENT_LLM_API_KEY")
    told = told.replace("looked at first", "the key is $AGENT_SEEDING_LLM_API_KEY")
    trace = "/agent-traces-evaluation"
    app = make_judged_app(
        lab.root / "telling",
        {
            "agent-seed.sh": f"env\nset -x\n: $AGENT_LLM_API_KEY\n{SEED}",
            "agent-evaluate.sh": (
                f'test -z "$OPENAI_API_KEY" || exit 9\nenv\nmkdir {trace}\nenv > {trace}/env.json\n'
                f"env > {trace}/$AGENT_LLM_API_KEY.log\n"
                f"cat > /evaluation-finished.json <<END\n{told}\nEND\n"
            ),
        },
    )
    made = config(lab, vibench_env_file=str(keys), grading={"retries": 0})
    server = VibenchResourcesServer(config=made, server_client=server_client())
    arguments = Arguments()
    watching = asyncio.create_task(arguments.watch())
    web = server.setup_webserver()
    async with web.router.lifespan_context(web):
        transport = httpx.ASGITransport(web)
        async with httpx.AsyncClient(transport=transport, base_url="http://gym") as client:
            body = make_verify_body(lab.store.put(pack(app, lab.root / "app.tar")))
            body["test_plans"] = body["test_plans"][:1]
            response = await client.post("/verify", json=body, timeout=880)
    watching.cancel()

    row = response.json()
    assert (row["reward"], row["mask_sample"]) == (1.0, False), row["failure_reason"]
    assert row["verifier_sandbox_observation"]["provider"] == "docker"
    write_report(lab.root / "results/vibench_resources_server")
    found = read_all(lab.root / "results")
    assert any(name.endswith("seed.log") for name in found)
    assert any(name.endswith("traces-evaluation/env.json") for name in found)
    assert any(name.endswith("index.html") for name in found)
    places = {
        "row": json.dumps(row),
        "log": caplog.text,
        "arguments": "\n".join(arguments.seen),
        **found,
        "names": "\n".join(found),
    }
    assert {name: hits for name, text in places.items() if (hits := given_away(text))} == {}
    assert any(token in line for line in arguments.seen)
    assert left_of(token) == []


def read_all(folder: Path) -> dict[str, str]:
    """Every file, as text."""
    return {
        str(path.relative_to(folder)): path.read_bytes().decode(errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_test_sees_what_is_given_away() -> None:
    for text in (KEY, KEY[::-1], f"{KEY[:20]} and", " ".join(KEY), KEY.encode().hex(":")):
        assert given_away(text)
    assert given_away(base64.b64encode(f"user:{KEY}".encode()).decode())
    assert not given_away("nothing to see")
