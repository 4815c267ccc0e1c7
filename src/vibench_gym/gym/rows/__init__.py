# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Rows, which are NeMo Gym's input for each task, and the trees that features start from."""
