# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""OpenCode as a harness: its events read, its settings checked by itself, a task built for real."""

from __future__ import annotations

import json
import subprocess
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.core.errors import ConfigError, PrerequisiteMissing
from vibench_gym.core.tasks.task import bundled_tasks_dir
from vibench_gym.gym.agent.harnesses.base import HarnessTask, Program
from vibench_gym.gym.agent.harnesses.opencode import install
from vibench_gym.gym.agent.harnesses.opencode.events import MAX_LINES, MAX_TEXT_CHARS, read_events
from vibench_gym.gym.agent.harnesses.opencode.harness import OpenCode
from vibench_gym.gym.agent.harnesses.opencode.install import VERSION, ensure, find
from vibench_gym.gym.wire import HarnessStatus
from vibench_gym.testing.policies import Build, Conversation, recognise
from vibench_gym.testing.policy_server import PolicyServer, usual_policies

if TYPE_CHECKING:
    from pathlib import Path

    from support.gym_servers.building import BuildWith
    from vibench_gym.core.artifact import ArtifactStore

pytestmark = pytest.mark.gym
PROMPT = HarnessTask("Build it.", "http://127.0.0.1:3142/v1", "/tmp/.build", temperature=0.5)  # noqa: S108 (in the box)


def line(kind: str, part: Any = None, **more: Any) -> bytes:
    return json.dumps({"type": kind, "sessionID": "ses_1", "part": part, **more}).encode() + b"\n"


def tool(state: Any, **more: Any) -> bytes:
    return line(
        "tool_use", {"type": "tool", "tool": "bash", "callID": "c1", "state": state, **more}
    )


FINISH = {
    "messageID": "m1",
    "reason": "stop",
    "tokens": {"input": 10, "output": 3, "reasoning": 2, "cache": {"read": 5, "write": 1}},
}


# --- events


def test_a_session_becomes_items_and_numbers() -> None:
    told = read_events(
        line("step_start", {"messageID": "m1"})
        + line("reasoning", {"id": "r", "text": "hm"})
        + line("text", {"id": "t", "text": "I look."})
        + tool(
            {"status": "completed", "input": {"command": "ls"}, "output": "a", "time": TIME}
            | {"metadata": {"sessionId": "ses_2"}}
        )
        + line("step_finish", FINISH)
    )

    assert [item.type for item in told.items if hasattr(item, "type")] == [
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert (told.model_calls, told.finished, told.sessions) == (1, True, ("ses_1", "ses_2"))
    assert (told.usage.input_tokens, told.usage.output_tokens) == (16, 5)
    assert (told.usage.cached_tokens, told.usage.reasoning_tokens) == (5, 2)
    assert (told.tools[0].started_at, told.tools[0].completed_at) == (1.0, 2.5)


TIME = {"start": 1000, "end": 2500}


def test_what_is_cut_or_unknown_costs_itself() -> None:
    whole = (
        line("text", {"text": "one"}) + line("holiday", {"x": 1}) + line("text", {"text": "two"})
    )
    told = read_events(b"not json\n[1]\n" + whole + line("text", {"text": "three"})[:-9])

    assert len(told.items) == 2
    assert told.unreadable_lines == 3
    assert not told.finished


def test_lines_without_end_are_counted_and_left() -> None:
    told = read_events(b"y\n" * (MAX_LINES + 7) + line("text", {"text": "too late"}))

    assert told.items == ()
    assert told.unreadable_lines == MAX_LINES + 8


@pytest.mark.parametrize("part", [None, 1, [], "x", {"state": 1}, {"tokens": {"input": "many"}}])
@pytest.mark.parametrize("kind", ["text", "tool_use", "step_finish", "step_start", "reasoning"])
def test_parts_of_any_kind_are_borne(kind: str, part: Any) -> None:
    told = read_events(line(kind, part) + line("error", error=part))

    assert told.usage.input_tokens == 0


@given(st.binary(max_size=300), st.recursive(st.none() | st.floats() | st.text(), st.lists))
def test_nothing_raises(junk: bytes, value: Any) -> None:
    part = {"text": value, "state": {"output": value, "time": value}, "tokens": {"input": value}}
    read_events(
        junk + b"\n" + line("tool_use", part) + line("step_finish", part) + line("text", part)
    )


def test_numbers_are_bounded_and_texts_too() -> None:
    told = read_events(
        line("step_finish", {**FINISH, "tokens": {"input": 1e300, "output": -5}})
        + line("text", {"text": "x" * (MAX_TEXT_CHARS * 2)})
    )

    assert told.usage.output_tokens == 0
    assert len(str(told.items[0])) < MAX_TEXT_CHARS * 2


def test_errors_are_told() -> None:
    told = read_events(line("error", error={"name": "APIError", "data": {"message": "no key"}}))

    assert told.errors == ("APIError: no key",)


# --- settings


def test_the_prompt_is_no_argument_and_files_are_the_rollouts_own() -> None:
    run = OpenCode(None).command(PROMPT, "/opt/opencode/bin/opencode")
    config = json.loads(run.env["OPENCODE_CONFIG_CONTENT"])

    assert run.stdin == "Build it."
    assert "Build it." not in run.argv
    assert {v for k, v in run.env.items() if k.startswith("XDG_")} == {
        f"/tmp/.build/{name}"  # noqa: S108 (in the box)
        for name in ("data", "config", "cache", "state")
    }
    assert config["provider"]["gym"]["options"]["baseURL"] == "http://127.0.0.1:3142/v1"
    assert config["agent"]["build"] == {"temperature": 0.5}
    assert (config["share"], config["autoupdate"]) == ("disabled", False)


def test_settings_of_the_operator_win_but_not_over_the_model() -> None:
    settings = {
        "permission": {"bash": {"*pkill*": "deny"}},
        "share": "auto",
        "model": "elsewhere/model",
        "provider": {"gym": {"options": {"baseURL": "http://elsewhere/", "timeout": 5}}},
    }
    config = OpenCode(None, settings=settings).config("http://here/v1")

    assert config["permission"]["bash"] == {"*pkill*": "deny"}
    assert config["permission"]["*"] == "allow"
    assert config["share"] == "auto"
    assert config["model"] == "gym/policy"
    assert config["provider"]["gym"]["options"]["baseURL"] == "http://here/v1"
    assert config["provider"]["gym"]["options"]["timeout"] == 5


def test_the_program_itself_checks_its_settings() -> None:
    program = ensure()
    OpenCode(program, settings={"permission": {"bash": {"*": "allow"}}}).check()

    with pytest.raises(ConfigError, match="does not know these settings: autoupdat"):
        OpenCode(program, settings={"autoupdat": True}).check()
    with pytest.raises(ConfigError, match="refuses its settings"):
        OpenCode(program, settings={"autoupdate": 7}).check()


def test_a_program_that_does_not_run_or_is_another_stops_the_start(tmp_path: Path) -> None:
    gone = Program(tmp_path, "/opt/opencode", "bin/opencode", VERSION)
    real = ensure()
    other = Program(real.folder, real.box_folder, real.executable, "0.0.1")

    with pytest.raises(PrerequisiteMissing, match="does not run"):
        OpenCode(gone).check()
    with pytest.raises(PrerequisiteMissing, match=r"not '0\.0\.1'"):
        OpenCode(other).check()


# --- installation


def test_it_is_found_at_its_version_only(tmp_path: Path) -> None:
    place = tmp_path / "node_modules" / install.package()
    (place / "bin").mkdir(parents=True)
    (place / "bin/opencode").touch(mode=0o755)
    (place / "package.json").write_text('{"version": "0.0.1"}', encoding="utf-8")
    assert find(tmp_path) is None

    (place / "package.json").write_text(json.dumps({"version": VERSION}), encoding="utf-8")
    found = find(tmp_path)
    assert found is not None
    assert found.box_path == "/opt/opencode/bin/opencode"


def test_a_package_with_another_digest_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = install.package()
    monkeypatch.setitem(install._INTEGRITY, name, "sha512-" + "A" * 86 + "==")

    with pytest.raises(PrerequisiteMissing, match="EINTEGRITY"):
        ensure(tmp_path / "opencode")
    assert find(tmp_path / "opencode") is None


def test_the_program_says_its_version() -> None:
    program = ensure()
    done = subprocess.run(
        [program.folder / program.executable, "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == VERSION


# --- scripted policies and the real program


def test_a_policy_knows_its_task_by_the_specification() -> None:
    text = (bundled_tasks_dir() / "standup/prd/mvp.txt").read_text(encoding="utf-8")
    feature = (bundled_tasks_dir() / "standup/prd/feature1.txt").read_text(encoding="utf-8")
    one, both = recognise(text), recognise(f"{text}\n\n{feature}")

    assert one is not None
    assert (one.root.name, one.artifact) == ("standup", "mvp")
    assert both is not None
    assert both.source_artifact == "feature1"
    assert recognise("something else") is None


def test_a_policy_without_a_task_it_knows_builds_nothing() -> None:
    said = Conversation(turns=1, results=("Build a spaceship.",))

    assert Build().turn(said).calls == ()


@pytest.mark.timeout(400)
@pytest.mark.sandbox
@pytest.mark.postgres
@pytest.mark.parametrize("name", ["good", "broken"])
async def test_opencode_builds_a_task_as_a_policy_says(
    build_with: BuildWith, store: ArtifactStore, tmp_path: Path, name: str
) -> None:
    task = bundled_tasks_dir() / "pantry"
    prd = (task / "prd/mvp.txt").read_bytes()
    async with PolicyServer(usual_policies(), name) as endpoint:
        build = await build_with(
            OpenCode(ensure()), port=endpoint.port, files={"/app/prd.txt": prd}
        )

    assert build.status is HarnessStatus.OK, build.detail
    assert build.model_calls == len(endpoint.requests) == build.transcript.model_calls
    assert build.sessions == build.transcript.sessions
    with tarfile.open(store.path(str(build.artifact_sha256))) as tar:
        tar.extractall(tmp_path / "app", filter="data")
    (tmp_path / "app/prd.txt").unlink()
    reference = task / "reference/mvp"
    built = {p.name: p.read_bytes() for p in (tmp_path / "app").rglob("*") if p.is_file()}
    wanted = {p.name: p.read_bytes() for p in reference.rglob("*") if p.is_file()}
    assert set(built) == set(wanted)
    assert (built == wanted) is (name == "good")


@pytest.mark.sandbox
@pytest.mark.postgres
async def test_an_empty_policy_builds_nothing_and_is_scored(
    build_with: BuildWith, store: ArtifactStore
) -> None:
    async with PolicyServer(usual_policies(), "empty") as endpoint:
        build = await build_with(OpenCode(ensure()), port=endpoint.port)

    assert build.status is HarnessStatus.OK
    with tarfile.open(store.path(str(build.artifact_sha256))) as tar:
        assert tar.getnames() == ["prd.txt"]
