# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The QA agent, its verdict tools, and the record of its verdicts."""
