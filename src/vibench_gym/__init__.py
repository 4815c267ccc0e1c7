# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Grade web apps built by coding models on a real stack, in a real browser."""
