# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The state of pages: tabs, documents, snapshots, pictures, dialogs, and when a page is quiet."""
