# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The program that stands on the host for a box."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from vibench_gym.sandbox.isolated_python import isolated_python
from vibench_gym.sandbox.zone.daemon import launch_client

if TYPE_CHECKING:
    from pathlib import Path


class TestLaunchClient:
    def test_without_its_zone_it_ends_with_a_code_of_its_own(self, tmp_path: Path) -> None:
        command = isolated_python(launch_client.__name__, str(tmp_path), "token")
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (125, b"", b"")
        assert launch_client.SOCKET_NAME
