# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks: hostile archives, builds and apps, each beside its honest twin."""
