# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Zones: the namespaces an app or a build runs in, and the boxes inside."""
