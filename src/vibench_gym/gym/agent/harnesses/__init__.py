# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Coding harnesses, a module or folder each, and the table in which they are registered."""
