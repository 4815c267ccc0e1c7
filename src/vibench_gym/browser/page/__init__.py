# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a page is and shows: tabs, documents, snapshots, pictures, dialogs, and when it is quiet."""
