# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Boxes for code that nobody trusts, and archives that come out of them."""
