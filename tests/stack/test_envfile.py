# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.stack import envfile


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("A=1\nB=two words\n", {"A": "1", "B": "two words"}),
        ("export A=1", {"A": "1"}),
        ("# A=1\n\nB=2 # why\nC=a#b", {"B": "2", "C": "a#b"}),
        ("A='it is $HOME'", {"A": "it is $HOME"}),
        ('A="say \\"hi\\" \\$5 \\\\ \\x"', {"A": 'say "hi" $5 \\ \\x'}),
        ('A="one\ntwo\\nthree"\nB=2', {"A": "one\ntwo\nthree", "B": "2"}),
        ("A='{\n \"k\": [1]\n}'", {"A": '{\n "k": [1]\n}'}),
        ("\ufeffA=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A='no end\nB=2", {"A": "'no end", "B": "2"}),
        ("A=$(reboot)\nB=`id`", {"A": "$(reboot)", "B": "`id`"}),
        ("not a line\n=x\n1A=x\nA-B=x", {}),
        ("A=\nB=''", {"A": "", "B": ""}),
        ("A=1\nA=2", {"A": "2"}),
    ],
)
def test_lines_are_data(text: str, env: dict[str, str]) -> None:
    assert envfile.parse(text.encode()) == env


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "ld_library_path",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "PATH",
        "BASH_ENV",
        "https_proxy",
        "POSTGRES_DATABASE_URL",
        "APPLICATION_PORT",
        "PIP_INDEX_URL",
        "npm_config_registry",
        "AGENT_LLM_BASE_URL",
        "PGHOSTADDR",
        "PGSERVICEFILE",
        "PSQLRC",
        "NODE_REPL_EXTERNAL_MODULE",
        "_JAVA_OPTIONS",
        "OPENSSL_MODULES",
        "SSL_CERT_FILE",
        "DOTNET_STARTUP_HOOKS",
        "LUA_INIT",
        "CURL_HOME",
        "A B",
        "",
        "A=B",
    ],
)
def test_names_that_change_more_than_the_app_are_denied(name: str) -> None:
    assert envfile.is_denied(name)
    assert envfile.allowed({name: "x"}) == {}


@pytest.mark.parametrize("name", ["NODE_ENV", "PG_POOL_SIZE", "PAGE_SIZE", "NODE_CONFIG", "PG"])
def test_names_of_apps_are_theirs(name: str) -> None:
    assert envfile.allowed({name: "x"}) == {name: "x"}


@pytest.mark.parametrize("name", ["BOARD_JSON", "OPENAI_API_KEY", "_x", "DATABASE_SEED", "GAME_2"])
def test_names_of_an_app_are_allowed(name: str) -> None:
    assert envfile.allowed({name: "x"}) == {name: "x"}


def test_values_are_bounded() -> None:
    assert envfile.allowed({"A": "x" * 100_000, "B": "a\0b", "C": "ok"}) == {"C": "ok"}
    assert len(envfile.allowed({f"A{n}": "x" for n in range(1000)})) == 256
    assert envfile.parse(b"A=" + b"x" * 1_000_000) == {}


@given(st.dictionaries(st.from_regex(r"[A-C][A-Z_]{0,5}X", fullmatch=True), st.text(max_size=50)))
def test_quoted_values_come_back(env: dict[str, str]) -> None:
    env = {name: value.replace("\0", "").replace("\r", "") for name, value in env.items()}
    env = {name: value for name, value in env.items() if "'" not in value}
    text = "".join(f"{name}='{value}'\n" for name, value in env.items())
    # Lone surrogates cannot be in a file.
    data = text.encode("utf-8", errors="ignore")
    expected = {n: v.encode("utf-8", "ignore").decode() for n, v in env.items()}
    assert envfile.parse(data) == {n: v for n, v in expected.items() if not envfile.is_denied(n)}


def test_agrees_with_a_shell() -> None:
    text = 'A=\'x y\'\nB="q \\"r\\""\nexport C=plain\n'
    script = f'set -a; eval {shlex.quote(text)}; printf \'%s|%s|%s\' "$A" "$B" "$C"'
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert "|".join(envfile.parse(text.encode()).values()) == said.stdout
