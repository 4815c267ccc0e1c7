# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Registries as the real clients of this host tell them, under configurations of our own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from vibench_gym.core.config import StackConfig
from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.stack.packages import registries
from vibench_gym.stack.packages.registries import find_registries, trust_store
from vibench_gym.stack.toolchain.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain(StackConfig())


@pytest.fixture(autouse=True)
def bare_clients(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("PIP_", "UV_", "NPM_CONFIG")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(tmp_path / "npmrc"))
    monkeypatch.setenv("NPM_CONFIG_GLOBALCONFIG", str(tmp_path / "global-npmrc"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_built_in_defaults_of_the_clients(toolchain: Toolchain) -> None:
    found = find_registries(toolchain)
    assert len(found.python_indexes) == 1
    for url in (*found.python_indexes, found.npm):
        assert urlsplit(url).scheme == "https"
        assert url.endswith("/")
        assert urlsplit(url).netloc in found.file_hosts
    assert len(found.file_hosts) == 3


def test_configured_registries_replace_the_defaults(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    default = find_registries(toolchain)
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:pw@pip.example:8443/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://extra.example/s/ file:///opt/wheels")
    (tmp_path / "npmrc").write_text("registry=https://npm.example/path\n")
    found = find_registries(toolchain, ["Added.example"])
    assert found.python_indexes == (
        "https://user:pw@pip.example:8443/simple/",
        "http://extra.example/s/",
    )
    assert found.npm == "https://npm.example/path/"
    assert found.file_hosts == {
        "pip.example:8443",
        "extra.example",
        "npm.example",
        "added.example",
    }
    assert not found.file_hosts & default.file_hosts


def test_extra_indexes_come_after_the_default(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = find_registries(toolchain).python_indexes
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://extra.example/s/")
    assert find_registries(toolchain).python_indexes == (*default, "https://extra.example/s/")


def test_folders_of_the_host_do_not_count(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = find_registries(toolchain)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///opt/pypi/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/opt/wheels")
    assert find_registries(toolchain) == default


def test_uv_settings_count_too(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config" / "uv").mkdir(parents=True)
    (tmp_path / "config" / "uv" / "uv.toml").write_text(
        '[[index]]\nurl = "https://a.example/s"\ndefault = true\n'
        '[[index]]\nname = "b"\nurl = "https://b.example/s"\n'
    )
    found = find_registries(toolchain)
    assert found.python_indexes == ("https://a.example/s/", "https://b.example/s/")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://c.example/s")
    assert find_registries(toolchain).python_indexes[0] == "https://c.example/s/"


def test_clients_that_say_nothing_are_a_missing_prerequisite(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registries, "_output", lambda *_args, **_kwargs: None)
    with pytest.raises(PrerequisiteMissing, match="ensurepip"):
        find_registries(toolchain)
    monkeypatch.setattr(registries, "_pip_defaults", lambda _: ("https://a.example/", "f.example"))
    with pytest.raises(PrerequisiteMissing, match="npm"):
        find_registries(toolchain)


def test_the_operators_certificates_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CERT", "/no/such/file")
    assert trust_store().verify_mode.name == "CERT_REQUIRED"
