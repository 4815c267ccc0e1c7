# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Seeder, QA agent and the grader that turns an artifact into scorecards."""
