# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Rows: what NeMo Gym is given for each task, and the trees that features start from."""
