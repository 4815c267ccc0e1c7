# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Leaves special files, odd names and odd modes behind."""

import os
import socket

os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("listener")
os.symlink("/etc/passwd", "outside")
os.symlink("loop", "loop")
with open(b"\xff\n name", "w") as file:
    file.write("x")
with open("n" * 255, "w") as file:
    file.write("x")
os.mkdir("closed", 0)
with open("setuid", "w") as file:
    os.fchmod(file.fileno(), 0o6755)
