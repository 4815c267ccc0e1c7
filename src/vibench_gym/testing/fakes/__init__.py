# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Fakes: a browser, a model and a stack in memory, for tests of what uses them."""
