# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Package registries: the mirror that set-up goes through, and the cache behind it."""
