# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The options of every kind of box."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from vibench_gym.sandbox.zone.box import Bind, BoxSpec
from vibench_gym.sandbox.zone.daemon.bwrap_arguments import bwrap_arguments, memory_folders


def options(**changes: Any) -> list[str]:
    fields: dict[str, Any] = {"argv": ("true",), "user": "app", "env": {}, "binds": ()}
    return bwrap_arguments(BoxSpec(**(fields | changes)).message(), lambda path: f"/stage{path}")


class TestBwrapArguments:
    @pytest.fixture(autouse=True)
    def _etc(self, monkeypatch: pytest.MonkeyPatch) -> None:
        listed = os.listdir
        monkeypatch.setattr(os, "listdir", lambda path: [] if path == "/etc-host" else listed(path))

    def test_every_box_is_closed(self) -> None:
        for user in ("app", "database", "browser"):
            got = options(user=user)
            for wanted in ("--unshare-user", "--unshare-pid", "--clearenv", "--disable-userns"):
                assert wanted in got
            text = " ".join(got)
            assert "--cap-drop ALL" in text
            assert "--ro-bind /proc/sys /proc/sys" in text
            assert text.index("--remount-ro /dev ") > text.index("--tmpfs /dev/shm")
            assert "--remount-ro / " in text

    def test_tmp_of_the_app_is_the_zones(self) -> None:
        assert "--bind /state/scratch/tmp /tmp" in " ".join(options())
        assert "--size 1073741824 --tmpfs /tmp" in " ".join(options(user="browser"))

    def test_binds_and_their_order(self) -> None:
        binds = (
            Bind("/app", state="app", writable=True),
            Bind("/app/x", source=Path("/usr/lib")),
            Bind("/tmp", state="tmp"),  # noqa: S108
        )
        text = " ".join(options(binds=binds))
        assert "--bind /files/app /app --ro-bind /stage/usr/lib /app/x --ro-bind /state/" in text
        assert "--bind /state/scratch/tmp" not in text

    def test_network_and_nested_namespaces(self) -> None:
        assert "--unshare-net" not in options()
        assert "--unshare-net" in options(network=False)
        assert "--disable-userns" not in options(nested_userns=True)

    def test_unknown_folders_are_refused(self) -> None:
        with pytest.raises(KeyError, match="no state folder"):
            options(binds=(Bind("/x", state="upper"),))

    def test_folders_in_memory_of_each_box(self) -> None:
        spec = BoxSpec(("true",), "database", {}, ()).message()
        assert set(memory_folders(spec)) == {"/tmp", "/home/postgres", "/dev/shm", "/var/tmp"}  # noqa: S108
