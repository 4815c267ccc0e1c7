# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What apps run with: Python, Node, PostgreSQL and Chromium, found on this host."""
