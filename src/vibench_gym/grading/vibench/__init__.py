# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""ViBench's own graders: its two scripts run for each plan, on Docker, from a checkout.

For numbers that compare with the published benchmark. App, seeder and judge share one container
there, which is ViBench's design and not ours: what a card says is checked against the plan and
counts for nothing beyond it, and what a run leaves behind is removed, but an app that attacks its
judge is not stopped (docs/vibench-grader.md).
"""
