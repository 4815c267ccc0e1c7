# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Leaves a folder deeper than any path can name."""

import os

for _ in range(200):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
