# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Harnesses, which build the apps: a module or folder for each, and the registry of their names."""
