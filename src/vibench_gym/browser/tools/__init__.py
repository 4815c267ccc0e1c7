# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tools by which a model drives the browser, and the table in which they are registered."""
