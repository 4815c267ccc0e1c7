# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Answers every connection with something that is not HTTP."""

import os
import socket

listener = socket.create_server(("127.0.0.1", int(os.environ["APPLICATION_PORT"])))
while True:
    peer, _ = listener.accept()
    peer.sendall(b"SSH-2.0-hello\r\n\r\n")
    peer.close()
