# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Grading one app: seeding, QA in a browser, verdicts, and whose fault each failure is."""
