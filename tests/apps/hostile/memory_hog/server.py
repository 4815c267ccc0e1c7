# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Takes memory until it is stopped, in several processes."""

import os

for _ in range(3):
    os.fork()
held = []
while True:
    held.append(bytearray(os.urandom(1024)) * (16 * 1024))
