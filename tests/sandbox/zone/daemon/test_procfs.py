# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What is read from /proc."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from vibench_gym.sandbox.zone.daemon import procfs


class TestProcfs:
    def test_our_own_children_are_found_and_measured(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            parents = procfs.parents()
            assert parents[child.pid] == os.getpid()
            assert child.pid in procfs.descendants_of(os.getpid(), parents)
            assert procfs.resident_bytes([os.getpid(), 2**30]) > 1_000_000
            assert 0 < procfs.proportional_bytes([os.getpid()]) < 10**10
            assert procfs.exceeds_memory([os.getpid()], 1000)
            assert not procfs.exceeds_memory([os.getpid()], 10**12)
        finally:
            child.communicate(b"\n")

    def test_listening_ports(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            assert server.getsockname()[1] in procfs.listening_ports()

    def test_folders_in_memory(self) -> None:
        assert procfs.memory_folder_bytes(os.getpid(), ["/dev/shm", "/not/there"]) >= 0  # noqa: S108
