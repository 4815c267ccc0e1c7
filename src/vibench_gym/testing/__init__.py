# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Fakes and contract tests for people who write stacks, sandboxes and models."""
