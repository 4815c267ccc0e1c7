# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Accepts and never answers."""

import os
import socket
import time

listener = socket.create_server(("127.0.0.1", int(os.environ["APPLICATION_PORT"])))
held = []
while True:
    held.append(listener.accept())
    time.sleep(0.01)
