# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""One plan of a rollout: its attempts, what each is built from, and its files on disk."""
